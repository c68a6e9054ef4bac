"""What functions and operators do with their arguments, for every front end: one line each. Pure.

`same`: the value is the argument; `value`: it is computed of the argument; `aggregated`; `condition`: the
argument only chooses between values; `window`. With `*`, the value has the argument's structure, or that of
its elements: a field of the value is a field of the argument. The last role is that of all further arguments;
those in brackets take turns, and an argument left over at the end has the last of them (ELSE).
"""

from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from lineage_merge.column_lineage.transformations import Transformation


class Role(NamedTuple):
    """The step from an argument to the value; `passes`: parts of the value are parts of the argument."""

    step: Transformation
    passes: bool = False


VALUE = Role(Transformation.TRANSFORMATION)
AGGREGATED = Role(Transformation.AGGREGATION)
CONDITION = Role(Transformation.CONDITIONAL)
OF_WINDOW = Role(Transformation.WINDOW)
SAME = Role(Transformation.IDENTITY)
_WORDS = {
    "value": VALUE,
    "aggregated": AGGREGATED,
    "condition": CONDITION,
    "window": OF_WINDOW,
    "same": SAME,
}

# By a function's name without underscores: in SQL, in Hive's expressions and in the text of Spark's plans, as
# Catalyst's class and as the parser's.
_FUNCTIONS = """
if iff iif nvl2                                 = condition value*
when case_when                                  = (condition value*)
case decode_case                                = condition (condition value*)
nullif                                          = value* condition
coalesce greatest least concat map_concat       = value*
cast try_cast to_array to_variant               = value* value

max_by min_by arg_max arg_min                   = aggregated* condition aggregated
max min any_value mode                          = aggregated* aggregated
first first_value last last_value               = aggregated* aggregated
array_agg collect_list collect_set              = aggregated* aggregated
array_concat_agg array_union_agg array_unique_agg = aggregated* aggregated
rank dense_rank percent_rank                    = window
window_spec_definition                          = window
pivot_first                                     = condition aggregated
lag lead                                        = value* value value*
nth_value                                       = value* value

array array_concat array_union array_append array_prepend = value*
array_insert                                    = value* value value*
array_except array_intersect array_remove array_repeat = value* value
array_compact array_distinct array_first array_last array_max array_min = value* value
array_reverse array_slice array_sort sort_array reverse shuffle slice flatten = value* value
list_distinct list_element list_extract list_reverse list_slice = value* value
element_at try_element_at get object_delete object_pick = value* value
explode explode_outer posexplode posexplode_outer inline inline_outer = value* value
"""

# Aggregates of which only the whole argument matters.
_AGGREGATES = """
approx_count_distinct approx_distinct approx_percentile approximate_count_distinct avg bit_and bit_or bit_xor
bloom_filter bool_and bool_or checksum compute_bit_vector compute_bit_vector_hll compute_stats context_ngrams
corr count count_if covar_pop covar_samp ds_hll_sketch ds_kll_sketch entropy every fsum geometric_mean
group_concat histogram histogram_numeric json_agg json_object_agg jsonb_agg jsonb_object_agg kahan_sum
kurtosis list mad map_agg mean median multimap_agg ngrams percentile percentile_approx percentile_cont
percentile_disc python_udaf ratio_to_report regr_avgx regr_avgy regr_count regr_intercept regr_r2
regr_slope regr_sxx regr_sxy regr_syy set_agg skewness some std stddev stddev_pop stddev_samp string_agg sum
sum_no_overflow try_avg try_sum var_pop var_samp variance xmlagg
"""

# What differs, and what only one of them has.
_PLATFORMS = {
    # Classes that stand for their argument, or for what Spark's analyzer replaced the function with.
    "catalyst": """
alias assert_not_null check_overflow known_not_null known_nullable promote_precision = same*
known_floating_point_normalized normalize_nan_and_zero temp_resolved_column = same*
datetime_sub decode equal_null extract get null_if nvl nvl2 string_trim_both = same*
try_add try_divide try_element_at try_eval try_multiply try_subtract = same*
union selected_value                            = same*
aggregate_expression                            = aggregated* condition
window_expression                               = value* window
nth_value                                       = value*
""",
    # Nodes of its trees, by their arguments in the order in which they are declared.
    "sqlglot": """
alias paren                                     = same*
filter                                          = same* condition
having_max                                      = value* condition
order window                                    = same* window
ordered                                         = same
within_group                                    = aggregated
case                                            = condition value*
ignore_nulls respect_nulls distinct unnest list = value*
limit                                           = value* value
kwarg                                           = value value*
nth_value                                       = aggregated* aggregated
rank dense_rank percent_rank                    = aggregated
array_except array_intersect                    = value*
""",
    # Lists in brackets, by which windows and levels are made, have their role from the expression's reader.
    "quicksight": """
if_else                                         = (condition value*)
switch                                          = condition (condition value*)
avg_if count_if distinct_count_if max_if median_if min_if = aggregated condition
stdev_if stdevp_if sum_if var_if varp_if        = aggregated condition
distinct_count stdev stdevp var varp percentile_cont percentile_disc = aggregated value
avg_over count_over distinct_count_over max_over min_over sum_over = aggregated
stdev_over stdevp_over var_over varp_over       = aggregated
percentile_over percentile_cont_over percentile_disc_over = aggregated value
percent_of_total window_avg window_count window_max window_min window_sum = aggregated
running_avg running_count running_max running_min running_sum = aggregated window
period_to_date_avg period_to_date_count period_to_date_max period_to_date_min = aggregated window
period_to_date_sum period_to_date_avg_over_time period_to_date_count_over_time = aggregated window
period_to_date_max_over_time period_to_date_min_over_time period_to_date_sum_over_time = aggregated window
period_over_period_difference period_over_period_last_value = value* window value
period_over_period_percent_difference           = value window value
difference percent_difference                   = value window value
first_value last_value                          = value* window
percentile_rank                                 = window
""",
}
Platform = Literal["", "catalyst", "sqlglot", "quicksight"]

# They return the one of their arguments, or elements, that is greater or smaller than the others.
_COMPARING = frozenset("max min greatest least arraymax arraymin".split())


class Roles(NamedTuple):
    """The roles of a function's arguments: of the first ones, and of all others by turns."""

    first: tuple[Role, ...]
    others: tuple[Role, ...]

    def get_role(self, position: int, count: int | None = None) -> Role:
        """Return the role of the argument at a position, from 0; `count`: how many there are, if known."""
        if position < len(self.first):
            return self.first[position]
        turn = (position - len(self.first)) % len(self.others)
        is_left_over = turn == 0 and count is not None and position == count - 1
        return self.others[-1 if is_left_over else turn]

    def list_roles(self, count: int) -> tuple[Role, ...]:
        """Return the roles of `count` arguments."""
        return tuple(self.get_role(position, count) for position in range(count))


class LambdaRoles(NamedTuple):
    """What becomes of the result of a lambda, and what its variables are.

    `result`: the elements are `computed`, `tested`, `selected`, `sorted` or `reduced`, or the `keys` or
    `values` of a map. `variables`: elements of the argument of that number, from 1 (of a map, keys and
    values), or the `total` so far. Others have no origin, or are positions.
    """

    result: str
    variables: tuple[str, ...]


_LAMBDAS = """
transform array_transform list_transform list_apply = computed 1
zip_with                                        = computed 1 2
exists array_exists any_match array_any         = tested 1
forall array_for_all all_match array_all none_match = tested 1
filter array_filter list_filter                 = selected 1
array_sort list_sort                            = sorted 1 1
aggregate array_aggregate reduce list_reduce    = reduced total 1
map_filter                                      = selected 1 1
transform_keys                                  = keys 1 1
transform_values map_zip_with                   = values 1 1 2
"""


def roles(function: str, platform: Platform = "", default: Role = VALUE) -> Roles:
    """Return the roles of a function's arguments; `default` is the role of all of an unknown one's."""
    return find_roles(function, platform) or Roles((), (default,))


@lru_cache(4096)
def find_roles(function: str, platform: Platform = "") -> Roles | None:
    """Return the roles of a function's arguments, None for one that is not in the table."""
    key = _key(function)
    return (_tables()[platform].get(key) if platform else None) or _tables()[""].get(key)


def is_comparing(function: str) -> bool:
    """Return whether a function returns the greatest or smallest of its arguments, or elements."""
    return _key(function) in _COMPARING


def lambda_roles(function: str) -> LambdaRoles | None:
    """Return what a function does with its lambda, None for one that is not in the table."""
    return _lambdas().get(_key(function))


def _key(function: str) -> str:
    return function.rpartition(".")[2].replace("_", "").lower()


@cache
def _tables() -> Mapping[str, Mapping[str, Roles]]:
    common = {_key(name): Roles((), (AGGREGATED,)) for name in _AGGREGATES.split()}
    common |= {name: _parse_roles(words) for name, words in _lines(_FUNCTIONS)}
    return {"": common} | {
        platform: {name: _parse_roles(words) for name, words in _lines(text)}
        for platform, text in _PLATFORMS.items()
    }


@cache
def _lambdas() -> Mapping[str, LambdaRoles]:
    return {name: LambdaRoles(words[0], tuple(words[1:])) for name, words in _lines(_LAMBDAS)}


def _lines(text: str) -> Iterator[tuple[str, list[str]]]:
    for line in filter(None, text.splitlines()):
        names, _, words = line.partition("=")
        yield from ((_key(name), words.split()) for name in names.split())


def _parse_roles(words: list[str]) -> Roles:
    turns = next((at for at, word in enumerate(words) if word.startswith("(")), len(words) - 1)
    parsed = [_role(word.strip("()")) for word in words]
    return Roles(tuple(parsed[:turns]), tuple(parsed[turns:]))


def _role(word: str) -> Role:
    role = _WORDS[word.removesuffix("*")]
    return Role(role.step, passes=True) if word.endswith("*") else role
