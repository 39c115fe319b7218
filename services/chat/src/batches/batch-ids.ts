/** Ids of files and batches begin as those of OpenAI do. */
export const filePrefix = 'file-';
export const batchPrefix = 'batch_';
