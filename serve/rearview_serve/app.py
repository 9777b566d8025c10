"""The Ray Serve application, `rearview_serve.app:build`: the one composition root, and the only
place that holds deployment options.
"""

from typing import Any

from ray import serve
from ray.serve import Application

from rearview_serve.arguments import AppArguments
from rearview_serve.replicas import EmbedReplica, RecallReplica, ReflectReplica, RerankReplica, WriteReplica

# Replicas share a machine's cores rather than own them: five would not fit a laptop otherwise.
_SHARED: dict[str, Any] = {"num_cpus": 0}
_MANY = 256
"""Requests a replica takes at once; more wait at the caller, where a deadline counts them."""


def build(arguments: AppArguments | dict[str, Any]) -> Application:
    """The application from its arguments (a dict when Serve reads them from a config file)."""
    typed = arguments if isinstance(arguments, AppArguments) else AppArguments.model_validate(arguments)
    embed = _deployment("Embed", EmbedReplica).bind(typed)
    reflect = _deployment("Reflect", ReflectReplica, asleep=True).bind(typed)
    # One replica: it owns the collection, batches its writes and keeps its order.
    write = _deployment("Write", WriteReplica).bind(typed, embed, reflect)
    idle = typed.rerank_folder is None and typed.late_folder is None
    rerank = _deployment("Rerank", RerankReplica, asleep=idle).bind(typed, write)
    recall = _deployment("Recall", serve.ingress()(RecallReplica))
    return recall.bind(typed, embed, rerank, write)


def _deployment(name: str, replica: type, *, asleep: bool = False) -> Any:
    """A deployment of one replica; `asleep`: of none until it is called, since an idle one costs 180 MB."""
    # With a user_config, Serve calls `reconfigure` of a replica that has it before any request.
    options: dict[str, Any] = {"user_config": {}} if hasattr(replica, "reconfigure") else {}
    if asleep:
        options["autoscaling_config"] = {"min_replicas": 0, "initial_replicas": 0, "max_replicas": 1}
    else:
        options["num_replicas"] = 1
    return serve.deployment(name=name, max_ongoing_requests=_MANY, ray_actor_options=_SHARED, **options)(replica)
