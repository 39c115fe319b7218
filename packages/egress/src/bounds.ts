/** The bounds of calls to addresses given by tenants, with what happens at each. */

/** A call fails as `busy` after a longer wait, or behind so many of its tenant and host. */
export const maxWaiting = 256;
/**
 * An address of a host, or a name server, gives way to the next after this time. Node's 250 ms are less than a distant
 * host needs.
 */
export const patienceMs = 2_000;
/** A host is unreachable if all its name servers take longer. */
export const resolveMs = 4_000;
/** A host with more addresses is refused. */
export const maxAddresses = 32;
/** Lower ports are well-known, SMTP, SSH and others, and refused but for 443. */
export const firstFreePort = 1_024;

/** A call fails after so long without a byte, or in all, unless its request says otherwise. */
export const quietMs = 15_000;
export const requestMs = 30_000;
/** A longer body fails, unless the request says otherwise; so do longer headers. */
export const maxBodyBytes = 1024 * 1024;
export const maxHeaderBytes = 16 * 1024;
/** Responses before the response, like 103 (RFC 8297): a host could send them until the end of the request's time. */
export const maxHints = 16;
/** A longer or later ignored body costs its connection. */
export const discardedBytes = 64 * 1024;
export const discardMs = 1_000;
/** Idle connections close: earlier than servers close them, so a request seldom meets a closing one. */
export const keepAliveMs = 4_000;

/** A process reads responses for so long in one turn of its event loop. */
export const turnMs = 10;
/** A turn with other work between the reads ends; the time of a paused parser is not counted. */
export const longestTurnMs = 30;
/** A piece for the parser of HTTP, read in up to 20 ms, whatever it is. */
export const pieceBytes = 4 * 1024;
