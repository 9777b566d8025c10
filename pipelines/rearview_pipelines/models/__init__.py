"""Encoders on onnxruntime, and the one place that uses torch: writing them as ONNX."""
