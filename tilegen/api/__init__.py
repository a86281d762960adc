"""What `import tilegen` offers: specs as files and kernels that can be called. Import the modules; this one is empty,
so that choosing a kernel (`selection`) costs nothing of calling one."""
