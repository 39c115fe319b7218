/**
 * How seals of thoughts begin that translation has put into the API of a client. They go back to their maker by translation,
 * and to no provider of the client's own API.
 */
export const sealMark = 'gatehouse.';

export function isMarked(seal: unknown): boolean {
  return typeof seal === 'string' && seal.startsWith(sealMark);
}
