"""The values: runs that measured them, tiles that hold them, frames that read them, and the files they came from."""
