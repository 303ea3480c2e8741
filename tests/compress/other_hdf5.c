/* Another libhdf5 than the one that Sluice calls. */
int H5Tget_class(long type) { return (int)type; }
unsigned long H5Tget_size(long type) { return (unsigned long)type; }
int H5Pget_chunk(long list, int most, unsigned long* chunk) {
  return list != 0 && most != 0 && chunk != 0;
}
int H5Pget_filter_by_id2(void) { return -1; }
int H5Pmodify_filter(void) { return -1; }
