"""accelerate's launcher on its configuration, and the plugins that it makes of it: prints what it refuses."""

import json
import os
import sys
import tempfile

sys.path.pop(0)  # this file has the library's name

import yaml
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.utils import DeepSpeedPlugin, FullyShardedDataParallelPlugin, ParallelismConfig
from accelerate.utils.launch import prepare_deepspeed_cmd_env, prepare_multi_gpu_env


def differs(wanted, arguments):
    """What the launcher understood otherwise than it is written."""
    for section in ("fsdp_config", "deepspeed_config", "parallelism_config"):
        for key in wanted.get(section, {}):
            if not hasattr(arguments, key):
                return f"its launcher has no {section}.{key}"
    kind = wanted["distributed_type"]
    if (arguments.use_fsdp, arguments.use_deepspeed) != (kind == "FSDP", kind == "DEEPSPEED"):
        return f"it is not run as {kind}"
    if arguments.num_processes != wanted["num_processes"]:
        return f"{arguments.num_processes} processes for {wanted['num_processes']}"
    return ""


def plugins(wanted, arguments):
    """Make what the processes make of the launcher's environment, and hold it against what is written."""
    if arguments.use_fsdp:
        os.environ.update(prepare_multi_gpu_env(arguments))
        for one in ("FSDP_SYNC_MODULE_STATES", "FSDP_CPU_RAM_EFFICIENT_LOADING"):
            os.environ[one] = "false"  # asks for a card at once
        made, said = FullyShardedDataParallelPlugin(), wanted["fsdp_config"]
        if made.fsdp_version == 1 and made.sharding_strategy.name != said["fsdp_sharding_strategy"]:
            return f"its strategy is {made.sharding_strategy.name}"
        if made.fsdp_version == 2 and made.reshard_after_forward != said["fsdp_reshard_after_forward"]:
            return f"it reshards: {made.reshard_after_forward}"
        offloads = getattr(made.cpu_offload, "offload_params", type(made.cpu_offload).__name__ == "CPUOffloadPolicy")
        if bool(offloads) != said["fsdp_offload_params"]:
            return f"it offloads: {made.cpu_offload}"
    if arguments.use_deepspeed:
        arguments.deepspeed_fields_from_accelerate_config = ",".join(wanted["deepspeed_config"])
        os.environ.update(prepare_deepspeed_cmd_env(arguments)[1])
        made, said = DeepSpeedPlugin(), wanted["deepspeed_config"]
        if made.zero_stage != said["zero_stage"]:
            return f"its stage is {made.zero_stage}"
    if section := wanted.get("parallelism_config"):
        made = ParallelismConfig(**{key.removeprefix("parallelism_config_"): size for key, size in section.items()})
        if made.total_size != wanted["num_processes"]:
            return f"its sizes are {made.total_size} processes"
    return ""


def refusal(text):
    before = dict(os.environ)
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(text)
        file.flush()
        try:
            arguments = launch_command_parser().parse_args(["--config_file", file.name, "train.py"])
            arguments, _, _ = _validate_launch_command(arguments)
            wanted = yaml.safe_load(text)
            return differs(wanted, arguments) or plugins(wanted, arguments)
        except Exception as problem:  # whatever it raises is its refusal
            return f"{type(problem).__name__}: {problem}"
        finally:
            os.environ.clear()
            os.environ.update(before)


sys.stdout.write("\n" + json.dumps([refusal(text) for text in json.load(sys.stdin)]))
