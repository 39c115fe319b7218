/**
 * The bounds of the service, with what happens at each. Numbers of a provider's API and of one algorithm stay beside their
 * code.
 */

/** A day: then a reply is given up, a replaced secret signs no more, and a longer `Retry-After` is cut. */
export const dayS = 86_400;
/** Calls, events and notes of deleted users are deleted after so many days. */
export const keptDays = 30;
/** Keys of messages outlive these: providers repeat a message for a day or two. */
export const keysKeptDays = 7;
/** An endpoint is disabled after so many days of failures only. */
export const failingDays = 5;
/** Older events of Zalo are replays, possibly with unknown keys: Zalo repeats one for a day or two. */
export const maxEventAgeMs = 3 * 86_400_000;
/** Signatures and times of senders count only within this difference from our clock. */
export const clockSkewS = 300;

/** Rows of one round or batch; more follow. */
export const batchRows = 500;
/**
 * Rows of a user deleted by one statement during a transfer: 100,000 calls with their keys and deliveries took 2.3 s.
 */
export const deletedRows = 5_000;
/** A call of a step of a transfer moves rows so long, and bytes at once; the next call continues. */
export const moveMs = 2_000;
export const moveBytes = 8_000_000;
/** Resources shown in a preview beside the transfer's own. */
export const maxUses = 1_000;

/** Work of a lost job is queued again: a job added while another one of its target ended is missing. */
export const overdueMs = 15_000;
/** A slower receiver or provider fails the attempt. */
export const attemptMs = 15_000;
/** Another attempt at a delivery or reply begins after it: longer than an attempt takes. */
export const leaseS = 30;
/** Pause if no attempt was made, or the provider limits for an unknown time. */
export const pauseS = 5;
/** Overdue answers of calls of a tenant whose jobs one round queues again; more follow. */
export const answersOfTenant = 100;
/** Work of an inactive tenant is looked at again after it. */
export const suspendedS = 300;
/** Requests to one target at a time, of all replicas together. */
export const maxInFlight = 8;
/** Waiting calls, messages, and events of a subscription: 429 beyond it, or the event is dropped. */
export const maxQueued = 10_000;
/** Unsent messages of a conversation: further answers of webhook calls fail to be delivered there. */
export const maxQueuedReplies = 1_000;
/** Results and replies may be written to endpoints and channels, which may lead back: refused beyond it. */
export const maxHops = 8;
/** Sendings of a result, and deliveries shown for its call. */
export const maxDeliveriesOfCall = 50;
/** Larger events are not sent. Events of services have some hundred bytes. */
export const maxEventBytes = 64 * 1024;

/** A dead replica's call can be taken over after it. */
export const callLeaseS = 12;
export const prolongMs = 3_000;
/** A sender or a repeat looks for the answer, or for a moving endpoint, so often. */
export const pollMs = 250;
/** Senders waiting for an endpoint about to move get 503 after it, and beyond so many of a replica. */
export const openWaitMs = 30_000;
export const maxOpenWaits = 100;
/** Chat's own limit of one run. A longer run would take as long the next time. */
export const longestRunMs = 10 * 60_000;
/** A job asks again so long after a run of its call was still under way. */
export const jobPollMs = 1_000;
/** With less time left, chat is not asked. */
export const leastCallMs = 500;
/** After so many attempts a limit of chat counts as a lasting one. */
export const limitAttempts = 5;

/** A failed refresh of tokens is tried again, and another replica may begin one. */
export const refreshAgainS = 30;
export const refreshLeaseS = 60;
/** A younger access token is not replaced when Zalo refuses it: a refresh would not help. */
export const youngTokenS = 300;

/** Waiting messages of a conversation read at once, and earlier ones, however few tokens they have. */
export const maxWaitingMessages = 100;
export const maxEarlierMessages = 200;
/** Messages of an answer; the last one announces more. */
export const maxPieces = 50;
/** Providers show an answer as being written for about as long. */
export const typingMs = 4_500;
/** Longer names of senders are cut, and longer ids of users replaced by a digest. */
export const maxNameChars = 255;
/** Messages and previews that one message quotes; further ones are left out. */
export const maxQuotes = 10;
/** Longer quotes, forwarded messages and names of their authors are cut. Telegram's messages have 4,096 at most. */
export const maxQuotedChars = 2_000;
export const maxForwardedChars = 8_000;
export const maxQuotedNameChars = 100;
/** Elements in the blocks of a quote, and how deep they lie; further ones are left out. */
export const maxBlockItems = 1_000;
export const maxBlockDepth = 8;
/** Longer reasons of providers are cut. */
export const maxReasonChars = 300;

/** Longer challenges are no handshake; Slack's have about 50. */
export const maxChallengeChars = 1_000;
/** 413 beyond it. Senders have some twenty. Each takes microseconds, and more the more there are: a million would take 3 s. */
export const maxFormFields = 1_000;
/** More signatures than in a rotation would be work for nothing: 401. */
export const maxSignatures = 8;
/** Slack names one installation for an event. Each takes microseconds, and a body has room for 130,000. */
export const maxAuthorizations = 10;

/** Longer templates are refused, and longer prompts fail or are cut. UTF-16 units. */
export const maxTemplateChars = 65_536;
export const maxOutputChars = 256 * 1024;
/** The longest excerpt, without the mark of a cut. */
export const maxExcerptChars = 8_000;
/** Elements of a list in a prompt: a payload may have thousands. */
export const maxListed = 50;
/** Longer texts can't be filtered: most filters make a copy or a part for each character. */
export const maxFilteredChars = 2 * 1024 * 1024;
/**
 * The length of a text times the length of the text searched in it: the native search takes as many steps for some
 * texts, and can't be interrupted.
 */
export const maxSearchSteps = 2 ** 28;
