/**
 * The bounds of the service, with what happens at each. Numbers of an API's format or of one algorithm stay beside their
 * code.
 */

/** A file or a list of the catalogue that could not be used is read again after it. */
export const rereadMs = 60_000;
/** Connections to a provider, and fetches of its credentials, fail after it. */
export const connectMs = 10_000;

/** Errors, counts and credentials of providers are read so far. Larger errors are cut, and other answers refused. */
export const smallAnswerBytes = 64 * 1024;
/** A description of a file or a batch, and an answer or embeddings for another service, fail beyond it. */
export const objectBytes = 1024 * 1024;
/** A whole answer of a provider fails beyond it. */
export const maxAnswerBytes = 64 * 1024 * 1024;
/** Lists of models and deployments end there, and say that there are more. */
export const listBytes = 1024 * 1024;
/** The file of the catalogue and the list of prices are refused beyond it; 20,000 prices fit. The event loop waits for them. */
export const catalogueBytes = 2 * 1024 * 1024;

/** Names behind patterns, tenants and models whose state a replica keeps. The one that was longest unused starts over. */
export const maxNamed = 1_000;
/** The same of tenants' own keys: about 20 MB. */
export const maxTenantKeys = 10_000;
/** The longest name of a model, here and at its provider. Longer ones are unknown. */
export const maxNameLength = 256;
/** Longer names of tools and ids are in no use, and match nothing. */
export const maxIdChars = 1_024;
