/** The bounds of the service, with what happens at each. Numbers of an API's format stay with its code. */

// Calls of other services.

/** The list of limits is shown without what memory holds after it. */
export const memoryUsageMs = 1_000;
/** A dry run of a policy has no preview after it. */
export const previewMs = 5_000;
/** The days of runs in a preview. */
export const previewDays = 7;
/** A new provider key is refused as an outage after it: chat asks the provider meanwhile. */
export const providerCheckMs = 15_000;
/** A step of a transfer does a bounded part of its work in each call, which fails after it. */
export const stepMs = 30_000;

// Pages and exports.

/** Rows in memory per export. */
export const exportPageRows = 200;
/** Concurrent exports of a replica; others wait. Owners' exports have slots of their own. */
export const exportSlots = { ofOwners: 1, ofTenants: 4 };
/** Keys read for a page of a filter without an index, in about 40 ms. The next page continues there. */
export const maxLooked = 10_000;
/** Limited keys in an answer with settings, which then has about 0.5 MB and takes 65 ms to read. */
export const maxLimitedKeys = 10_000;
/** Groups named on the page of a refused login. */
export const shownGroups = 50;

// Keys and their use.

/** Expiring keys are reported so often, so many in one transaction. */
export const expiring = { everyMs: 60_000, batch: 200 };
/** Uses waiting to be written. Further ones are dropped: a key is noted again at its next look-up. */
export const maxWaitingUses = 50_000;
/** Uses in one transaction. */
export const usesPerWrite = 1_000;
/** A caller of ListChanges starts over after a longer silence. Changes stay for ten times as long. */
export const longestSilenceSeconds = 60;
/** A caller of ListChanges starts over beyond these: the changes since its position, and their subjects. */
export const maxChanges = 100_000;
export const maxChangedSubjects = 10_000;
/** Beyond it, ListChanges lists the tenant in place of its keys, users, groups and names. */
export const maxSubjectsOfTenant = 1_000;
/** Provider keys of a tenant; more are refused. Each call of chat for its settings carries all of them. */
export const maxProviderKeys = 100;
/** New provider keys of a tenant; more are refused. The provider is asked about each by the platform. */
export const checksPerMinute = 20;
/** Checks of one tenant in this replica; more are refused. */
export const checksInFlight = { perKey: 2, maxWaiting: 8 };
/** Uses in a call of NoteProviderKeys, which fails beyond it. */
export const maxNotedUses = 1_000;

// Users.

/** Users and groups of a tenant; more are refused. */
export const maxUsers = 1_000_000;
export const maxTenantGroups = 10_000;
/** Groups of a user from all sides together; more are refused, and a login gives no more. */
export const maxGroupsOfUser = 100;
/** Aliases of a user; more are refused. */
export const maxAliases = 8;

/** Users with one value of a filter of SCIM; more get 400 `tooMany`. */
export const maxFound = 1_000;
/** Members in an answer of SCIM: a page ends before it, and of a larger group the first ones are shown. */
export const maxShownMembers = 10_000;

// Limits and leases.

/** Counts cost nothing: a coding agent sends 35 at once when it starts. But a tenant may have any number of keys. */
export const countsPerMinute = { key: 600n, tenant: 6_000n };
/**
 * Live counters of policies: of a tenant, and of these the ones opened by one key, by runs without a key, and for
 * budgets of sessions. Requests for further ones are refused.
 */
export const maxCounters = {
  ...{ tenant: 1_000_000, key: 100_000 },
  ...{ keyless: 500_000, sessionBudgets: 250_000 },
};
/** Counters read in one part for the limits of a run, in about 10 ms: a user in 100 groups has thousands. */
export const countersAtOnce = 100;
/** Longest value of a counter of a policy, in UTF-16 code units. */
export const maxCounterValue = 256;
/** The longest validity of a lease: how long a lowered limit or a dead replica can have an effect. */
export const leaseMs = 2_000;
/** A call starts on no further tenant after this time, to answer within the caller's deadline of 5 s. */
export const settleMs = 2_000;
/** A heartbeat of a replica is written once in it. */
export const touchEveryMs = 1_000;
/** Replicas with a remembered last heartbeat; beyond it, all are forgotten. */
export const maxTouched = 1_000;
/** Replicas deleted in one round of the clean-up. */
export const maxOldHolders = 10;

/** The selection of a policy or guardrail; a larger one is refused. Each call of chat for settings carries all of them. */
export const maxSelectBytes = 16_384;

/** The credentials of a guardrail; larger ones are refused. Each call of chat for settings carries those of all. */
export const maxGuardrailSecretBytes = 16_384;

// Device logins.

/** How long a program waits for a person at most, and how often it polls. */
export const deviceLoginLife = { minutes: 10, intervalSeconds: 5 } as const;
/**
 * Maximum of waiting programs: from networks with a recent successful login, from all others (8 MB together), and from
 * one network of each kind.
 */
export const mostDeviceLogins = {
  ofKnown: 10_000,
  ofUnknown: 10_000,
  ofKnownNetwork: 1_000,
  ofNetwork: 100,
} as const;
/** Maximum of valid program keys from the sessions of one key; the oldest end first. */
export const mostKeysOfKey = 20;
/** How long the text before a renewal stays valid. Claude Code asks its `apiKeyHelper` every 5 minutes. */
export const renewalOverlapSeconds = 600;
/** Earlier texts of a key that are recognised: those of months, as programs renew them. */
export const mostReplacedTexts = 100;
/** How long a key is renewed after the person has confirmed it: then the person logs in and confirms again. */
export const longestRenewalDays = 30;
/** The shortest time between two renewals of a key. */
export const leastRenewalSeconds = 60;

// Sessions and logins.

/** How long a session lasts in all, and without a request. */
export const sessionLife = { hours: 12, idleMinutes: 30 } as const;
/** Maximum of open sessions; the oldest end first. */
export const mostSessions = { ofKey: 20, ofTenant: 5_000 } as const;
/** The most logins with one key. Each has two entries in the audit log. */
export const mostLoginsOfKey = { perMinute: 10, perHour: 60 } as const;
/**
 * Minutes until the next revalidation of a person, until another replica takes over from a lost one, and for which
 * sessions go on without an answer of the issuer. The first revalidation comes after the time to choose a tenant.
 */
export const lookMinutes = { next: 12, claim: 2, grace: 60 } as const;
/**
 * How long the groups of the last reading count while tokens leave groups out: a long weekend, for the operator to mend
 * it.
 */
export const groupsHours = 72;
/**
 * Maximum of a person's logins in a minute, and of those kept without a session or revalidation that needs them: keys
 * of programs are renewed while a login of their person stands.
 */
export const mostLogins = { perMinute: 10, kept: 200 } as const;
/** How long a person may take to log in at an issuer. */
export const loginMinutes = 10;
/** How long a link logs in: it is printed where a person waits for it. */
export const loginLinkSeconds = 60;
/** How long a network counts as known after a successful login, in days. */
export const loginNetworkDays = 30;
/** A browser is known for so long after a login. */
export const knownBrowserSeconds = 30 * 86_400;
/**
 * Answers of issuers brought back by browsers, of one network and of all, for each issuer: a slow issuer holds up no
 * other. A flood of one network waits behind itself; a refused answer has used no state up, and the browser may load
 * the page again. Browsers with an earlier login of the person wait apart, by person, as long as there is room.
 */
export const finishing = {
  ofNetworks: { perKey: 4, slots: 64, maxWaiting: 64, maxWaitingOfAll: 4_096 },
  ofPeople: { perKey: 2, slots: 64, maxWaiting: 8, maxWaitingOfAll: 4_096 },
};
/** Old logins deleted in one transaction. */
export const loginsDeletedAtOnce = 1_000;
/** Forms beyond it are refused. */
export const maxFormBytes = 4_096;
/** Reports of logouts beyond it are refused. */
export const maxLogoutFormBytes = 16_384;
/**
 * Maximum of waiting revocations for an issuer, and for a person: a token beyond them ends by itself. The longest pause
 * between two attempts, the attempts, which take a day, and the days in which a login of the person, or a program with
 * a key of theirs, may hold them back.
 */
export const waitingRevocations = {
  most: 10_000,
  perPerson: 100,
  pauseMinutes: 180,
  attempts: 15,
  hours: 24,
  days: 31,
} as const;
/** Calls of one issuer; an issuer that hangs delays no other, and revocations that wait in vain are tried later. */
export const revocationsInFlight = { perKey: 2, slots: 16, maxWaiting: 50 };
/** Those of a round of further attempts. */
export const revocationsAtOnce = 20;
/**
 * Calls of one issuer under way on a replica. One round takes 0.1 s and the issuer's answer: a replica revalidates
 * 5,000 sessions in twelve minutes if answers take half a second.
 */
export const revalidationsAtOnce = 4;
/** Between two searches for due sessions. */
export const revalidationMs = 5_000;
/** Overdue logins ended in one round. */
export const overdueAtOnce = 200;
/** Unreadable groups of an issuer are reported once in it. */
export const unreadGroupsMs = 10 * 60_000;

// Issuers.

/** Names of claims with lists on the page of a person without a mapping. */
export const maxListNames = 10;
/** More groups in a token are unreadable. */
export const maxGroups = 2_000;
/** Answers of issuers beyond it fail. */
export const issuerAnswerBytes = 512 * 1024;
/** Calls of issuers fail after it. */
export const issuerTimeoutMs = 8_000;
/** Clocks of an issuer and of a replica may differ by so much. */
export const clockToleranceSeconds = 60;
/** Longer tokens are refused. */
export const maxTokenLength = 256 * 1024;
/** Reports of logouts are sent at once; a used one is known for an hour. */
export const maxLogoutSeconds = 300;
/** A longer ID token doesn't fit into a URL everywhere. Without it, the issuer asks the person. */
export const maxHintLength = 4_096;
/** Calls of issuers under way on a replica; others wait. An issuer that hangs leaves the others their calls. */
export const maxIssuerCalls = { all: 128, tenant: 128, origin: 32, tenantAtOrigin: 32 };

// Deletions of users, and transfers.

/** Deletions of one tenant running at the same time. More wait for services that are down. */
export const maxRunningDeletions = 10_000;
/** Parts of a deletion, two for each name of the user; further ones run, and are not shown. */
export const maxDeletionParts = 100;
/** Rate limit of self-service deletions: each is stored, and in the audit log. */
export const ownIntervalMinutes = 10;
/** Without a receipt for this long, a deletion is published again: its job is dead, or the event was lost. */
export const deletionLostMinutes = 60;
/** Deletions or transfers resumed in one round. */
export const resumedAtOnce = 100;
/** Without a sign of work for this long, the job of a transfer is dead or was lost. */
export const transferLostMinutes = 15;
/** Maximum of usable previews of a source. */
export const maxOpenPreviews = 1_000;
/** A job of a transfer leaves what is left to another one after it. */
export const shiftMs = 30_000;
/** Between two looks at an incomplete step. */
export const transferPauseMs = 200;
/** A transfer is undone if it can't begin to be effective in this time. */
export const patienceS = { locking: 300, closing: 120, committing: 900 };
/** Consecutive failed attempts of a job: a quarter of an hour. */
export const maxFailures = 60;
/** After this time, a request accepted by an agent before its closure has begun its run: it lists tools meanwhile. */
export const quietS = 6;
