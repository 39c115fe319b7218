/** The result of a call without one. */
export const noResult = 'No result.';
/** The words in place of an empty result without its call. */
export const emptyResult = '(nothing)';

/** The words before a result without its call. */
export function earlierResult(isError: boolean): string {
  return `Result of an earlier call${isError ? ' (an error)' : ''}:`;
}
