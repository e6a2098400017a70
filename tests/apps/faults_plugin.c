/* A shared object to load and unload. */
double plugin_work(double n);
double plugin_work(double n) {
  volatile double sum = 0;
  for (double i = 0; i < n; ++i) sum += i;
  return sum;
}
