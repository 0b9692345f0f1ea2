"""What runs inside the training pods: rendezvous, training, checkpoints, one report per job.

The package is flat and imports nothing of ours, because it travels as a ConfigMap into a public
image. Beside the standard library it needs boto3, numpy and the framework that it trains with.
"""
