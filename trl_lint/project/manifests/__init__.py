"""One reader per notation in which projects pin packages. All of them return `Manifest`s."""
