/** Errors have the shape and the codes that those of chat completions have. */
export { clientWords, writeError } from '../chat/errors.ts';
