/** The most one transaction removes, or one page has, so that it stays short. */
export const batchDocuments = 200;
/** Passages of documents that one transaction removes. */
export const batchChunks = 500;
/** Passages that one transaction stores or analyses: it takes about half a second on one core. */
export const batchPassages = 250;
/** How long one call removes or copies; the caller of an RPC calls again. */
export const budgetMs = 3_000;
