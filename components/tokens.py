"""Type tokens of our components, the first part of every URN: a contract with existing state."""

from typing import Final

NETWORK: Final = "gangway:components:Network"
EKS_CLUSTER: Final = "gangway:components:EksCluster"
NODE_ROLE: Final = "gangway:components:NodeRole"
NODE_GROUP: Final = "gangway:components:NodeGroup"
CLUSTER_ADDONS: Final = "gangway:components:ClusterAddons"
CLUSTER_AUTOSCALER: Final = "gangway:components:ClusterAutoscaler"
NVIDIA_DEVICE_PLUGIN: Final = "gangway:components:NvidiaDevicePlugin"
VOLCANO: Final = "gangway:components:Volcano"
QUEUE: Final = "gangway:components:Queue"
RESULTS_BUCKET: Final = "gangway:components:ResultsBucket"
TRAINER_IDENTITY: Final = "gangway:components:TrainerIdentity"
TRAINING_JOB: Final = "gangway:components:TrainingJob"
