/** Errors have the shape and the codes that those of chat completions have. */
export { clientWords, writeError } from '../openai-chat/errors.ts';
