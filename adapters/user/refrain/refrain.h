/* The public header of Refrain. It adds no link dependency: a program that includes it builds and runs without Refrain.
 */
#ifndef REFRAIN_REFRAIN_H
#define REFRAIN_REFRAIN_H

#define REFRAIN_VERSION_MAJOR 0
#define REFRAIN_VERSION_MINOR 1
#define REFRAIN_VERSION_PATCH 0

#endif
