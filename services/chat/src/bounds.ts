/**
 * The bounds of the service, with what happens at each. Numbers of an API's format or of one algorithm stay beside their
 * code.
 */

import { dayMs } from '@gatehouse/kit/bounds';

/** An unusable file of the catalogue is read again after ten seconds, then twice as long each time, up to this. */
export const longestRereadMs = 10 * 60_000;
/** A missing or unusable list of prices is fetched again after it. */
export const refetchMs = 60_000;
/** Older lists of prices behind URLs are deleted: a catalogue names one, and replicas of a rollout two. */
export const keptPriceLists = 20;
/** Connections to a provider, and fetches of its credentials, fail after it. */
export const connectMs = 10_000;
/** Idle connections to a provider close after it, before most servers close theirs under a request. */
export const keepAliveMs = 4_000;

/** Errors, counts and credentials of providers are read so far. Larger errors are cut, and other answers refused. */
export const smallAnswerBytes = 64 * 1024;
/** Further models of a request, as of advisors and fallbacks, are refused to a tenant with a list of its models. */
export const maxOtherModels = 64;
/** Hints with a structure of their own are read so far. */
export const maxHintBytes = 64 * 1024;
/** Messages of larger requests, and larger lists of tools, are not searched for refused hints: 8 MiB take 30 ms. */
export const maxWalkedBytes = 8 * 1024 * 1024;
/** The same for lists with more elements and members of them, within 20 ms. */
export const maxWalkedParts = 20_000;
/** Requests for Gemini before version 3 with more keep the ids of calls: so many escapes are scanned in 25 ms. */
export const idLimits = {
  values: 100_000,
  texts: 40_000,
  escapes: 500_000,
  bare: 1024 * 1024,
  depth: Infinity,
};
/**
 * The text of a request up to this size stays until its run ends, where an estimate of its tokens reads it again; no
 * budget counts it. A larger one leaves a sample of 50,000 characters.
 */
export const rereadBytes = 64 * 1024;
/** A larger request body goes to a provider in parts, which are free once sent. */
export const smallBodyBytes = 64 * 1024;
/** A description of a file or a batch, and an answer or embeddings for another service, fail beyond it. */
export const objectBytes = 1024 * 1024;
/** A whole answer of a provider fails beyond it. */
export const maxAnswerBytes = 64 * 1024 * 1024;
/** Lists of models and deployments end there, and say whether there are more. */
export const listBytes = 1024 * 1024;
/** The file of the catalogue and the list of prices are refused beyond it; 20,000 prices fit. The event loop waits for them. */
export const catalogueBytes = 2 * 1024 * 1024;

/**
 * Names behind patterns, tenants and models with state kept by a replica. The one unused for the longest time starts
 * over.
 */
export const maxNamed = 1_000;
/** Names of what a deployment has refused a tenant. Beyond them, those refused longest ago are sent again. */
export const maxRefusedNames = 128;
/** The same of signatures, of which each conversation has its own. */
export const maxRefusedSignatures = 128;
/** Deployments that have refused something of a tenant: 1.2 MB. The one unused for the longest time starts over. */
export const maxRefusing = 32;
/** Calls of a model for one request, each without more of what the one before was refused for. */
export const maxMends = 8;
/** The same of tenants' own keys: about 20 MB. */
export const maxTenantKeys = 10_000;
/** Deployments in the report of a replica; further ones count as unused there. */
export const maxReported = 1_000;
/** The longest name of a model, here and at its provider. Longer ones are unknown. */
export const maxNameLength = 256;
/** Longer names of tools and ids are in no use, and match nothing. */
export const maxIdChars = 1_024;

/* Batches and files at providers */
/** A provider has a batch within this time, or never: the time limit of the request, and what clocks differ by. */
export const batchCreatedWithinMs = 3 * 60_000;
/** Pages in which an object is looked for: more than an account has in a day, and a bound for a list without an end. */
export const maxListPages = 1_000;
/** Files of a tenant; batches of messages are among them. More get 403. */
export const mostFiles = 10_000;
/** A provider has so long to accept a key and to describe a batch. */
export const providerAnswerMs = 30_000;
/** The same to delete a file or to list those it has: a provider without answers holds up every deletion there. */
export const deletionAnswerMs = 10_000;
/** Batches of one provider a replica works on at a time, each of another tenant; deletions of files likewise. */
export const providerSlots = 4;
/** A replica loses its batch to another one after being silent for so long. */
export const batchLeaseMs = 60_000;
/** Batches of a tenant under way. More get 403. */
export const mostBatches = 1_000;
/** Requests under way that may cost more than is reserved for them, where a budget counts. */
export const mostUnmeasured = 5_000;
/** Time for a provider to say whether it has a batch. */
export const batchStartMs = 60_000;
/** After it, a provider without an answer is asked: its answer can't come any more. */
export const batchCreationMs = 5 * batchStartMs;
/** Files deleted in one turn. */
export const filesOfTurn = 20;
/** Providers with waiting batches or files found at once. */
export const maxWaitingProviders = 1_000;
/** Tenants waiting at a provider, read by one statement. */
export const tenantsAtOnce = 200;
/** Rows read or deleted by one statement of the background: requests wait for their locks. */
export const rowsAtOnce = 200;
/** Within about two days. Then the provider's own retention deletes the file. */
export const maxDeletionTries = 8;
/** Attempts to find the file of an upload with an unknown end. */
export const uploadLooks = 2;
/** Files and batches of a page: each is decrypted. A client asking for more finds `has_more`. */
export const mostListed = 100;
/** Part of a body sent at once. */
export const bodyPartBytes = 256 * 1024;
/** Piece hashed in a few milliseconds. */
export const hashedBytes = 1024 * 1024;
/** A tenth of what Anthropic takes, in a body of an eighth. */
export const maxBatchRequests = 10_000;
/** A longer line of an uploaded file gets 400. */
export const maxRequestLineBytes = 8 * 1024 * 1024;
/** How long results may take: 200 MiB at 120 KiB a second. */
export const resultReadMs = 30 * 60_000;
/** Longer results are not read. */
export const maxResultLineBytes = 32 * 1024 * 1024;
/** From the end of the file to the answer. */
export const uploadAnswerMs = 2 * 60_000;
/** After the longest upload, when one without an end is looked for at its provider: a replica has died. */
export const uploadLookMs = 5 * 60_000;

/* Records of runs */
/** A run counts as older by so much, for the time until the database is asked. */
export const runAgeMarginMs = 1_000;
/** Rows of the outbox read by one statement. */
export const outboxPageRows = 2_000;
/**
 * Longer than the statement starting a run can be under way: a run begun before the deletion is in the database by
 * then.
 */
export const forgetSettleMs = 10_000;
/** Between two heartbeats of an instance. */
export const heartbeatMs = 5_000;
/** A heartbeat, a lease, a slot, a publication and an alert are tried again after it. */
export const shortRetryMs = 1_000;
/** An instance without a heartbeat for this long is dead. */
export const deadAfterMs = 15_000;
/**
 * Longest time between two heartbeats without counting as a gap. Shorter than two periods: an instance declaring others
 * dead has missed no heartbeat itself, so no outage of the database makes others look dead.
 */
export const heartbeatGapMs = 7_500;
/** Rows have to hold this much of no use before it is worth deleting. */
export const worthwhileBytes = 1_000_000;
/** Runs written again in one row. */
export const carriedAtOnce = 128;
/** Notes of estimated ends. Beyond this number the oldest are deleted, and can't be corrected any more. */
export const maxInterrupted = 100_000;
/** A commit takes a millisecond. Without a database, clients get their error after this time. */
export const commitPatienceMs = 3_000;
/** Starts or ends of runs in one commit, and corrections in one statement. */
export const groupSize = 256;
/** Rows with events taken to the outbox by one row. */
export const maxSpilled = 8;
/** After a deadlock, in which the database undoes one of two. */
export const deadlockRetryMs = 20;
/** Ends kept for later while the database is away: about 2 kB each. */
export const maxWaitingEnds = 20_000;
/** After the last row, what is left to delete is deleted. */
export const logIdleMs = 1_000;
/**
 * An end goes to the outbox after waiting for so long, and so do those of a publication that takes as long. Deletions of
 * users find them there.
 */
export const longestUnpublishedMs = 2_000;
/** Events, and a row more, written as JSON in one turn of the event loop. */
export const writtenAtOnce = 1_000;
/** So long a client's last byte waits for the commit of its run's end. */
export const longestHoldMs = 10_000;
/** A log of runs is written again so soon while the database is away: clients wait for the ends. */
export const logRetryMs = 500;
/** Logs of runs are looked at so often. A start event is published only for longer runs. */
export const announceMs = 500;
/** So long a stop waits for ends; the rest is reaped. */
export const recorderStopMs = 5_000;
export const lateEndRetryMs = 5_000;
/** Rows summed in one call; each holds the runs of one commit. */
export const maxCosts = 5_000;
/** Settlements in one call. */
export const maxUncharged = 1_000;
/** Charges of budgets in one call: about 1 MiB. */
export const maxChargesOfCall = 20_000;
/** Between two rounds of settlements. */
export const settleEveryMs = 1_000;
/**
 * Rounds between two signs of life, since the tenant service declares a holder dead after 20 s of silence, and between
 * two searches for costs of other replicas.
 */
export const settleRounds = 5;
/** About 16 MB of deleted rows. */
export const vacuumEnds = 4_000;
/**
 * A vacuum takes a twentieth of the time at most: while a backup or a long transaction still sees the deleted rows, it
 * reads everything and frees nothing.
 */
export const vacuumRestFactor = 20;
/** After a failure, like a timeout. Autovacuum, which has no timeout, runs in between. */
export const vacuumRetryMs = 120_000;

/**
 * Texts whose tokens are counted or wait for it, and their characters: 3 s of processor time at worst, and a tenth of a
 * tenant. The tokens of more texts are guessed; as many again are counted for tenants with less than an equal part.
 */
export const maxCounted = {
  all: { texts: 10_000, chars: 1_000_000 },
  tenant: { texts: 1_000, chars: 100_000 },
};
/** A run's end, with a client's last byte, waits for a count so long. Then its tokens are guessed. */
export const countWaitMs = 2_000;
/** Counts of a tenant take three times as long as those of the worst texts: the process that counts is killed. */
export const countDeadlineMs = 1_000;
/** The process that counts ends after it: another takes half a second to start. */
export const counterIdleMs = 10 * 60_000;
/** A process that failed is followed by another one after it, then after twice as long each time, up to a minute. */
export const counterRetryMs = 1_000;
export const longestCounterRetryMs = 60_000;
/** The log has failures of counts so often. */
export const countLogMs = 60_000;

/* Limits and budgets */
/** Tokens counted for a picture, a sound or a file. Only the provider can count them; their size is no measure. */
export const attachmentTokens = 4_096;
/** Tokens of an answer without a limit of the request or the catalogue, and the fewest a budget may lower it to. */
export const outputTokens = 4_096;
/**
 * Counts of prompts in memory, about 20,000. Those of a tenant beyond its part, or of the tenant with the most, go first
 * if unused for the longest time, and a byte is a token again.
 */
export const countedPromptBytes = { maxBytes: 16 * 1024 * 1024, maxBytesPerTenant: 4 * 1024 * 1024 };
/** Free amounts of limits up to this are returned at once: another replica may wait for them. */
export const smallLimit = 600n;
/** So long "unlimited" is good for. */
export const unlimitedLeaseMs = 1_000;
/** Sessions without a budget, some 8 MB, are asked about again after this time: changes report budgets set before. */
export const maxUnsetBudgets = 50_000;
export const unsetBudgetMs = 60_000;
/** A reservation becomes free when its request ends. */
export const reservedRetryMs = 2_000;
/** Only an administrator ends some refusals, by a larger budget or fewer policies: these are tried again after it. */
export const administratorRetryMs = dayMs;
/** Counters of policies of one provider call; a call with more is refused. */
export const maxCallCounters = 64;
/** Requests in one call, and needs of these after which no further request joins it. */
export const maxAsked = 500;
export const maxAskedNeeds = 8_000;
/** The most limits returned in one call; the next call returns further ones. */
export const maxReturned = 1_000;
/** A call with settlements: after 2 s of it the tenant service starts on no further tenant, and those follow in the next. */
export const settleDeadlineMs = 5_000;
/**
 * A slot free on another replica is returned there within `leaseReturnMs`, and so found here: a client sending one
 * request after the other is never refused because of its own last one.
 */
export const slotTries = 3;
export const slotAskMs = 60;
export const leaseReturnMs = 25;
/** The rest of a lease that has ended is returned with others, so much later: no lease waits for it. */
export const returnSliceMs = 100;
/** Tenants and subjects looked at in one round for leases without use. */
export const idleLooked = 20_000;
/** After so long, a request waiting for a budget is no longer overtaken. */
export const patientMs = 1_000;
/** Times at which requests waiting for amounts of a budget reserved by others ask, all together. */
export const reservedAskMs = 250;

/* Stops of runs */
/**
 * Stops of a tenant in force, and of these the ones sent by users: by one, and by all of them. Beside them, stops of users
 * for all their own runs. One more gets 403, unless the same sender has one for the same runs. Together 360 kB in each
 * replica.
 */
export const maxStops = { ofTenant: 200, ofUser: 20, ofUsers: 100, allOfUser: 1_000 };
/**
 * Requests of users to stop runs in a minute; more get 429, but for the first one of each user for all its runs. Each
 * writes an entry of the audit log.
 */
export const stopsPerMinute = { ofUser: 30, ofUsers: 300 };
/** The channel by which replicas hear of new stops. */
export const stopChannel = 'gatehouse/chat/run-stops';
/** A stop is kept so long at least: a replica without a session for a while still ends its runs. */
export const stopKeptS = 60;
/** Between two reads of the newest stops, and until a lost session is replaced. */
export const watchStopsMs = 1_000;
/** A session without an answer for so long is replaced. */
export const readStopsMs = 1_000;
/** Reads find stops of the last so many milliseconds: longer than the transaction of one may last. */
export const changedStopsMs = 30_000;
/** After a longer gap between reads, as in a stalled process, all stops are read again. */
export const longestStopGapMs = 10_000;
/** Stops in one statement. */
export const stopsAtOnce = 2_000;
/** Ended stops leave memory so often. */
export const pruneHoldsMs = 10_000;

/** The users of turns under way are looked up again so often, and so many at a time. */
export const blockedUsersMs = 1_000;
export const usersAtOnce = 100;

/* Content of runs */
/** Messages of a request that are stored; the oldest beyond it are left out. */
export const messagesBytes = 1024 * 1024;
/** Each other part: parameters, additions of the agent, response, calls of tools. A larger one is cut or left out. */
export const contentPartBytes = 256 * 1024;
/** Calls of tools in the content of a run, as in its trace. */
export const maxContentTools = 100;
/** Memory for contents of runs under way and of those that wait for the database. A run without any has no content. */
export const contentMemory = { perTenant: 16 * 1024 * 1024, perProcess: 32 * 1024 * 1024 };
/** Contents that wait for the database, of all and of a tenant; further ones are dropped and counted. */
export const maxWaitingContents = { all: 2_000, tenant: 1_000 };
/** Contents in one commit. */
export const contentGroup = 16;
/** Stored of each tenant: beyond it, the oldest are deleted within ten minutes. */
export const mostContentOfTenant = { count: 1_000_000, bytes: 20 * 1024 * 1024 * 1024 };

/* Tools */
/**
 * A call of a tool ends so long after the tool's own time limit, which starts late: the agent service looks up the agent,
 * the server and its list of tools before.
 */
export const toolSpareMs = 5_000;

/* Guardrails */
/** A run waits so long until its guardrails are compiled: the largest take 5 s of processor time. */
export const compiledWithinMs = 15_000;
/** Changes of single matches in one request. Beyond it, a text with matches is replaced whole by the first placeholder. */
export const mostChanges = 20_000;
/** Memory to check the texts of one request, by estimate. More values get 413. */
export const viewBytes = 128 * 1024 * 1024;
/** Frames of a stream held by guardrails; with more, the answer ends, or goes on unchecked if all of them are open. */
export const maxHeldBytes = 16 * 1024 * 1024;
/**
 * Texts let pass by models of guardrails, about 40,000, and 5,000 of a tenant. Those of a tenant beyond its part, or of the tenant with the
 * most, go first if unused for the longest time, and are asked about again.
 */
export const passedTextBytes = { maxBytes: 32 * 1024 * 1024, maxBytesPerTenant: 4 * 1024 * 1024 };
/** Characters of texts labelled by a model in one call. A longer text is alone in its call. */
export const labelledChars = 32_000;
/** Calls for labels of one question at the same time. */
export const labelledCalls = 4;
/** Calls of models for the guardrails of a run. A check fails beyond it. */
export const maxGuardrailCalls = 256;
/** A test of guardrails, and the matches in its answer of each. */
export const guardrailTestMs = 60_000;
export const maxTestedMatches = 1_000;
/** Memory of the texts of a test, by estimate. */
export const testedViewBytes = 32 * 1024 * 1024;

/* Stored responses and alerts */
/** Days for which responses, files and batches are stored at most, as OpenAI does. A tenant's retention may end before. */
export const maxStoredDays = 30;
/** Items of a page with more bytes go on in the next one. A larger item is a page by itself. */
export const pageBytes = 2 * 1024 * 1024;
/** Among the newest with an item, those of runs under way are passed over: no more than a tenant runs at once. */
export const newestWithItem = 1_000;
/** Items of a response by which it is found at most: the newest. Older ones were new in an earlier response. */
export const maxItemKeys = 256;
/** More than any response or request has. */
export const maxStoredItems = 100_000;
/** Keys of alerts and log lines; the oldest is forgotten beyond it. */
export const maxThrottled = 10_000;
/** Kept through an outage of the database. */
export const maxWaitingAlerts = 1_000;
/** An event has some of the mistakes in a catalogue; the log has all. */
export const maxProblems = 20;
export const maxProblemChars = 500;
/** Frames with items of an answer to be stored; an answer with more is stored as its last frame has it. */
export const itemFrameBytes = 1024 * 1024;
/** Ids in place of items in one request; a request with more returns 400. */
export const maxReferences = 1_000;
