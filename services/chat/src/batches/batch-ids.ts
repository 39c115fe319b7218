/** Ids of files and batches begin as those of OpenAI and Anthropic do. */
export const filePrefix = 'file-';
export const batchPrefix = 'batch_';
export const messageBatchPrefix = 'msgbatch_';
