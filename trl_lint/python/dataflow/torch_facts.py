"""What torch does with devices, as tables. Tried with FakeTensorMode on torch 2.13, and on a GPU with torch 2.11.

A CPU tensor of one or more dimensions may not meet an accelerator tensor in arithmetic, comparison, `where`, `cat`,
`matmul`, as a mask or as an index argument; a 0-dim CPU tensor may, but for the operations in `NOT_EVEN_SCALARS`.
Subscripts and item assignment are exempt. `tests/oracle/gpu_facts.json` has what a GPU answered.
"""

from __future__ import annotations

from trl_lint.words import words

# Factories whose result has one or more dimensions on the default device unless `device=` says otherwise.
FACTORIES = words("arange empty eye full linspace ones rand randint randn randperm tril_indices triu_indices zeros")
# `torch.tensor([...])` has a rank only where its argument shows one.
DATA_FACTORIES = words("BoolTensor FloatTensor IntTensor LongTensor as_tensor tensor")
# Methods whose result lives where their object lives.
SAME_DEVICE_METHODS = words("""
    T abs add all amax amin any argmax argmin argsort bfloat16 bincount bmm bool ceil chunk clamp clamp_max
    clamp_min clone contiguous copy_ cumprod cumsum detach diff div double eq exp expand expand_as fill_ flatten
    flip fliplr float float_power floor gather ge gt half index_select int le log log_softmax logical_and
    logical_not logical_or logical_xor logsumexp long lt mT masked_fill masked_fill_ masked_select matmul max
    mean min mm mul narrow ne neg new_empty new_full new_ones new_tensor new_zeros nonzero norm permute pow prod
    repeat repeat_interleave requires_grad_ reshape roll round rsqrt scatter scatter_ scatter_add select sigmoid
    softmax sort split sqrt squeeze std sub sum t tanh topk transpose tril triu type unbind unflatten unfold
    unique unsqueeze var view view_as where zero_
""")
# Names that only a torch tensor has: their use on a value proves that it is one.
TENSOR_ONLY = words("""
    bfloat16 bmm contiguous detach expand expand_as fliplr index_select is_cuda log_softmax long masked_fill
    masked_fill_ masked_select new_empty new_full new_ones new_tensor new_zeros permute requires_grad
    requires_grad_ scatter scatter_ softmax type_as unsqueeze view
""")
# Methods that may give a 0-dim tensor, which mixes with every device.
REDUCTIONS = words(
    "sum mean std var max min any all argmax argmin prod norm squeeze select unbind dot unique logsumexp"
)
# Of them, those that give one tensor, with a dimension less, if they are told which.
SINGLE_REDUCTIONS = words("sum mean std var any all argmax argmin prod norm logsumexp")
# Methods after which a tensor has dimensions.
GIVE_RANK = words("expand expand_as flatten new_ones new_zeros repeat unsqueeze view view_as")
SIZE_METHODS = words("dim nelement numel size")
# Free functions in which all tensor arguments must share a device.
MIXING_FUNCTIONS = words("""
    add addmm baddbmm binary_cross_entropy binary_cross_entropy_with_logits bitwise_and bitwise_or bmm cat cdist
    concat concatenate cosine_similarity cross_entropy div dot einsum embedding eq gather ge gt hstack
    index_select isin kl_div l1_loss le lerp logical_and logical_or logical_xor lt masked_fill masked_select
    matmul maximum minimum mm mse_loss mul ne nll_loss outer scatter smooth_l1_loss sub true_divide vstack where
""")
MIXING_METHODS = words("""
    add add_ bmm div div_ dot eq gather ge gt index_select le logical_and logical_or logical_xor lt masked_fill
    masked_fill_ masked_scatter masked_scatter_ masked_select matmul maximum minimum mm mul mul_ ne scatter
    scatter_ scatter_add scatter_add_ sub sub_ take_along_dim where
""")
# Of them, those whose result may have no dimensions even if all operands have some.
CONTRACTIONS = words("""
    binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity cross_entropy dot einsum kl_div l1_loss
    matmul mse_loss nll_loss smooth_l1_loss
""")
# Functions and methods that mix if they are given a second tensor: bounds, or the other operand.
MIXING_WITH_OPERANDS = words("clamp clip max min")
# Operations that have no exception for CPU tensors without dimensions. (Fake tensors have one for bounds.)
NOT_EVEN_SCALARS = words("clamp clip isin l1_loss mse_loss smooth_l1_loss")
# Free functions whose result lives where their first argument does.
SAME_DEVICE_FUNCTIONS = words("""
    abs argmax argmin argsort clamp clip clone cumprod cumsum exp flip gelu log log1p log_softmax logsigmoid logsumexp
    max mean min nan_to_num norm one_hot pad relu repeat_interleave reshape roll round rsqrt sigmoid softmax softplus
    sort sqrt square squeeze std sum tanh topk transpose tril triu unique unsqueeze var
""")
# `torch.distributed` functions that hand a tensor to the backend. Under NCCL it must be on an accelerator ("No backend
# type associated with device type cpu"); those for objects are not among them.
COLLECTIVES = words("""
    all_gather all_gather_into_tensor all_reduce all_to_all_single broadcast irecv isend recv reduce reduce_scatter
    reduce_scatter_tensor send
""")
# `accelerate.Accelerator` hands these to the same backend (utils/operations.py, `_gpu_gather`, `reduce`).
ACCELERATOR_COLLECTIVES = words("gather gather_for_metrics reduce")
DTYPES = words("""
    bfloat16 bool complex64 double float float16 float32 float64 half int int16 int32 int64 int8 long short
    uint8
""")
# Losses that fit one tensor to another.
REGRESSIONS = words("huber_loss l1_loss mse_loss smooth_l1_loss")
# Functions and methods through which gradients flow, and which give the same for the same operands.
DIFFERENTIABLE = words("""
    abs addcmul amax amin cat clamp clip concat cross_entropy cumsum div einsum exp expm1 flatten gather huber_loss
    kl_div l1_loss log log1p log_softmax logsigmoid logsumexp masked_fill masked_select matmul max maximum mean min
    minimum mse_loss mul nan_to_num norm permute pow relu reshape rsqrt selu sigmoid smooth_l1_loss softmax softplus
    sqrt square squeeze stack std sub sum tanh transpose unsqueeze var where
""")
DIFFERENTIABLE_METHODS = (DIFFERENTIABLE - words("exp pow square")) | words("""
    add add_ chunk clamp_max clamp_min clamp_ cumprod div_ expand expand_as expm1 index_select lerp masked_fill_ mul_
    narrow neg new_tensor prod repeat repeat_interleave select split sub_ t unbind view view_as
""")
# Methods that change where a tensor lives or what type it has, not what it says.
SAME_NUMBERS = words("bfloat16 clone contiguous cpu cuda double float half to type type_as")
# Methods whose result shares the storage of its tensor, and with it what kind of tensor it is.
VIEWS = words("expand flatten narrow permute reshape select squeeze t transpose unsqueeze view view_as")
# Functions whose result has no gradient.
NOT_DIFFERENTIABLE = words("""
    arange argmax argmin argsort bincount eq full_like ge gt isfinite isnan le logical_and logical_not logical_or lt
    multinomial ne nonzero ones_like rand_like randn_like zeros_like
""")
# Functions that keep an operand for the backward pass; an inference tensor among them cannot be kept.
SAVING_FUNCTIONS = words("cross_entropy div embedding gather masked_fill maximum min minimum mul nll_loss where")
# Parameters that take a tensor and are often given by name.
TENSOR_ARGUMENTS = words("index input other target")
