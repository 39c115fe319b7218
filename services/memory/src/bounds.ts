/** The most one transaction removes, or one page has, to stay short. */
export const batchDocuments = 200;
/** Passages of documents removed by one transaction. */
export const batchChunks = 500;
/** Passages stored or analysed by one transaction: it takes about half a second on one core. */
export const batchPassages = 250;
/** How long one call removes or copies; the caller of an RPC calls again. */
export const budgetMs = 3_000;
