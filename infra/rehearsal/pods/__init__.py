"""What a kubelet does, for the pods of a rehearsal that run as real local processes."""
