/** Remember the result of a function for the arguments of its last call. */

/** The chart builds itself anew when a property gets another array, so equal arguments have to give the same one. */
export function memoizeLast<Args extends readonly unknown[], T>(compute: (...args: Args) => T): (...args: Args) => T {
  let last: { args: Args; result: T } | undefined;
  return (...args) => {
    if (!last?.args.every((value, index) => Object.is(value, args[index]))) last = { args, result: compute(...args) };
    return last.result;
  };
}
