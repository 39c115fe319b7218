/**
 * The bounds of the service, with what happens at each. Those of calls under way stand beside their queues; numbers of a
 * standard and of one algorithm beside their code.
 */

/** Rows of a user deleted by one statement; more follow. */
export const batchRows = 500;
/** Agents of a page for chat; more follow. */
export const maxPageAgents = 1_000;
/** Uses by agents outside a transfer, shown in its preview. */
export const maxUses = 1_000;
/** Parameters and metadata of an agent are refused beyond it: patches could let them grow without end. */
export const maxFieldBytes = 64 * 1024;
/** A tool with a larger schema is unusable: to sort one of 830 kB for its digest took 140 ms. */
export const maxSchemaBytes = 64 * 1024;
/** So many characters of definitions are judged, sorted and hashed at once, in about 20 ms. */
export const judgedAtOnce = 64 * 1024;
/** A server's error with a longer body is dropped. */
export const maxErrorBytes = 64 * 1024;
/** Further cookies are left out of a header. */
export const maxCookieHeaderBytes = 64 * 1024;

/** Cookies of a user for all agents together, as many as browsers keep: refused beyond it, and deleted after so many days. */
export const maxCookies = 3_000;
export const cookieDays = 400;
/** Cookies read and sealed in one piece: up to 0.2 and 0.05 ms each. */
export const cookiesAtOnce = 20;
export const sealedAtOnce = 100;

/** Tokens of a tenant waiting to be revoked; further ones are left out. */
export const maxRevocations = 1_000;
/** A replica may take so long for a refresh, after which another one may begin. */
export const refreshLeaseS = 60;
/** The longest wait of a request for a refresh by another one, and the pause between its checks. */
export const refreshWaitMs = 25_000;
export const pollMs = 250;
/** After a refresh for which the authorization server could not be asked. */
export const refreshAgainS = 5;

/** A connection, a list of tools and a step with an authorization server fail after it, however patient calls are. */
export const stepMs = 20_000;
/** A stream for notices of a server is opened again. */
export const streamMs = 10 * 60_000;
/** A connection's notices are heard, and idle connections closed, so often. */
export const noticeMs = 10_000;
/** The longest pause in requests to an unresponsive server. */
export const longestRetryS = 300;
/** The longest wait of a turn for lists being fetched again. */
export const listWaitMs = 2_000;

/** A response of a server fails beyond it, and a list of tools ends with the page reaching it. */
export const maxAnswerBytes = 4 * 1024 * 1024;
/** Tools beyond it are left out of a list, and accepted definitions are no longer kept. */
export const maxListBytes = 1024 * 1024;
export const maxPages = 20;
/** Tools of one page; the rest is left out. A list with more wrong elements is no list. */
export const maxTools = 500;
export const maxWrongTools = 20;
/** Messages of one body, and versions of the protocol. */
export const maxMessages = 100;
/** Longer names, ids and methods are wrong. */
export const maxNameChars = 256;
/** The same of cursors, addresses to post to, and ids to go on from. */
export const maxTokenChars = 4_096;
/** Longer descriptions and messages of errors are cut. */
export const maxTextChars = 8_192;
/** Smaller bodies are read at once, in a millisecond; others are scanned in pieces of 5 ms. */
export const readAtOnceBytes = 16 * 1024;
export const scannedBytes = 1024 * 1024;
/** Pages are decoded, and texts compared with a value, in pieces of up to 60 ms. */
export const pieceBytes = 256 * 1024;
/** Names with a remembered accepted definition, also of tools no longer listed. */
export const maxAccepted = 1_000;
/** Alerts of one list, and the length of a description in one; the API shows all. */
export const maxAlerts = 20;
export const maxAlertChars = 1_000;
/** More than any provider accepts; what is beyond is left out. */
export const maxOfferedTools = 512;
export const maxOfferedBytes = 2 * 1024 * 1024;
/** Servers and tools that don't exist, shown in a run of their agent; further ones are left out. */
export const maxMissing = 20;
/** The same of a toolset. Its search goes through so many tools at once, in about 10 ms. */
export const maxToolsetTools = 5_000;
export const maxToolsetBytes = 16 * 1024 * 1024;
export const searchedAtOnce = 100;
/** Words of a search, and characters of a description; the rest is not looked at. */
export const searchedTerms = 20;
export const searchedChars = 1_000;
/** A page of tools ends before it. */
export const maxToolPageBytes = 1024 * 1024;
/** Lists of servers, of up to 1 MiB, read for a page of toolsets with single tools; further tools count as known. */
export const maxServersChecked = 50;
/** Schemas of tools mended in one piece: each takes up to 15 ms. */
export const mendedAtOnce = 4;

/** Responses of authorization servers fail beyond it, and tokens and parts of URLs for browsers are wrong. */
export const maxMetadataBytes = 256 * 1024;
export const maxSecretChars = 16_384;
export const maxUrlPartChars = 2_000;
/** A token with a longer lifetime never expires. */
export const maxTokenS = 365 * 86_400;

/** A page of the web fails beyond it. Redirects as browsers. */
export const maxPageBytes = 2 * 1024 * 1024;
export const maxRedirects = 20;
/** A page with more is text without an article. */
export const maxElements = 200_000;
