#include "record/error_text.hpp"

#include <cerrno>

namespace refrain::record {

std::string_view error_text(int error) {
  switch (error) {
    case EACCES: return "Permission denied";
    case EDQUOT: return "Disk quota exceeded";
    case EEXIST: return "File exists";
    case EFBIG: return "File too large";
    case EIO: return "Input/output error";
    case EISDIR: return "Is a directory";
    case ELOOP: return "Too many levels of symbolic links";
    case EMFILE: return "Too many open files";
    case ENAMETOOLONG: return "File name too long";
    case ENFILE: return "Too many open files in system";
    case ENOENT: return "No such file or directory";
    case ENOMEM: return "Cannot allocate memory";
    case ENOSPC: return "No space left on device";
    case ENOTDIR: return "Not a directory";
    case EPERM: return "Operation not permitted";
    case EROFS: return "Read-only file system";
    case ESTALE: return "Stale file handle";
    default: return "Input or output failed";
  }
}

}  // namespace refrain::record
