"""Training an EAGLE-3 head for a target, from the target's own words (Li et al. 2025).

The stages, each resumable, each in its own file: the target writes prompts and answers (`writing`), the draft's
vocabulary is counted (`vocabulary`), the target's hidden states are kept on disk (`states`), the head is trained by
unrolling its own guesses (`unroll`, `loop`), and what it promises is measured (`report`). `worker` runs them in a child
process, alone with the device; `job` starts, follows and ends that process. Here is only what their callers need.

The speculators library of the vLLM project was tried first (0.9.0) and is not used: it needs torchvision and
torchaudio, which do not import beside the torch build pinned here, and an older fsspec; its trainer moves the model to
a CUDA device even where there is none and resumes from pickles; its data comes from a running vLLM server. Checkpoints
in its format load as drafts.
"""

from playground.training.job import Training, last_training, start_training
from playground.training.options import TrainOptions

__all__ = ["TrainOptions", "Training", "last_training", "start_training"]
