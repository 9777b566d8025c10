"""The domain: what a memory is, and how one is written, recalled and forgotten.

Belongs here: values, ports, the write and recall pipelines, and the adapters that need no
cluster (Milvus, ONNX encoders). Never here: Ray, Kubernetes, HTTP.
"""
