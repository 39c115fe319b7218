/** Errors have the shape and the codes that those of chat completions have. */
export { formatError, writeError } from '../openai-chat/errors.ts';
