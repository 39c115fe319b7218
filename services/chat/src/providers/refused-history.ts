import type { HistoryMend } from '@gatehouse/dialects/history-mends';

/** The words by which servers refuse a history, with the change that they take. Sources stand beside the changes. */
const refusals: readonly (readonly [mend: HistoryMend, words: RegExp])[] = [
  ['calls.ids.nine', /\ba-z, A-Z, 0-9, with a length of 9\b/],
  [
    'calls.ids',
    /\b(?:call_id|tool_call_id|tool_calls\[\d+\]\.id)'?: string too long|\btool_use(?:\.|_)id\b.{0,40}\bshould (?:match pattern|have at most)/is,
  ],
  [
    'calls.results',
    /\bmust be followed by tool messages\b|\bmust be a response to a prece+ding message\b|\bno tool (?:output|call) found for\b|\bwithout .?tool_result|\bunexpected .?tool_use_id|\bmust have a single result\b/i,
  ],
  ['calls.signatures', /\bmissing (?:an? )?.?thought_signature\b/i],
  ['items.ids', /\binput\[\d+\]\.id'?: |\bduplicate item found with id\b/i],
  // The client's JSON was read, so this alone may be wrong with it.
  ['texts.halves', /\bsurrogates?\b|\bhex escape\b|\bnot valid json\b|\bparse the json body\b/i],
  [
    'roles.developer',
    /\bunknown variant .?developer\b|\bdeveloper is not one of\b|\brole.{0,60}['"`]developer['"`]|['"`]developer['"`].{0,60}\brole\b|\brole: developer\b|\bshould be 'system', 'user'/is,
  ],
  ['roles.system', /\bsystem role not supported\b/i],
  // Perplexity's words are the second (https://github.com/perplexityai/api-discussion/issues/265).
  [
    'roles.alternate',
    /\broles must alternate\b|\b(?:should be alternating|should alternate with assistant)\b/i,
  ],
  ['roles.after.tool', /\bunexpected role '?(?:user|system)'? after role '?tool\b/i],
];

/** Templates without a word of the system's count its message (https://github.com/vllm-project/vllm/issues/2080). */
const countsSystem = /^(?!.*\boptional\b).*\broles must alternate\b/is;

/** Whether a template refuses a history: its servers answer 500 (https://github.com/sgl-project/sglang/issues/892). */
export function isByTemplate(status: number, words = ''): boolean {
  return status === 500 && mendsFor(words).some((mend) => mend.startsWith('roles.'));
}

/** The changes of a history that a server takes, by its words. `names`: of what the refused request had changed. */
export function historyMendsFor(words: string, names: ReadonlySet<string>): HistoryMend[] {
  const stillRefused = names.has('roles.alternate' satisfies HistoryMend) && countsSystem.test(words);
  return stillRefused ? [...mendsFor(words), 'roles.system'] : mendsFor(words);
}

function mendsFor(words: string): HistoryMend[] {
  return refusals.filter(([, refusal]) => refusal.test(words)).map(([mend]) => mend);
}
