/** A habit of prose that `make lint` reports. The word list with its reasons is in STYLE.md. */
export interface Habit {
  /** Has the flag `g`. */
  found: RegExp;
  better: string;
  /** Reported in comments of code only. Default: in all prose. */
  onlyIn?: 'comments';
}

/** Begins a sentence: the first word of a comment or of its line, and the word after the end of another sentence. */
const opening = String.raw`(?<=^[ \t]*(?:/\*+|\*|//|--)?[ \t]*(?:- )?|[.!?][)"']*[ \t]+)`;
const pronouns = 'What|Whatever|Which|Whichever|Whose|Whom|Where|Wherever|Of';
const prepositions =
  'After|Against|Among|At|Before|Behind|Beside|Between|By|For|From|In|Into|On|Over|Since|Through|To|Under|Until|With';

export const habits: readonly Habit[] = [
  {
    found: /\b(?:told|tells?|telling)\b/gi,
    better: 'name what happens: return, report, publish, log, notify; for `tell apart`, distinguish',
  },
  { found: /\bnobody\b/gi, better: 'name the actor: no client, no service, no operator' },
  { found: /\bwhoever\b/gi, better: 'name the actor: the client, the caller, the reader' },
  // A question may begin with it.
  {
    found: /\bWho\b(?![^.:;]*\?)/g,
    better: 'begin the sentence with its subject: the caller, clients that …',
  },
  { found: /\bWhat all that\b/g, better: 'begin the sentence with its subject' },
  // `insufficient_quota` of the OpenAI API does not match.
  { found: /\bquotas?\b/gi, better: 'limit' },
  {
    found:
      /\b(?:contract|api|spec|specification|architecture)\s+§|\b(?:architecture|design) decision\b|\binterface-spec\b|\barchitecture\.md\b|\bapi\.md\b/gi,
    better: 'cite what a stranger can open: an ADR of docs/adr, an RFC, a page of docs/, or nothing',
  },
  { found: /\bcan not\b/gi, better: "cannot, or can't" },
  // A question may begin with it.
  {
    found: new RegExp(
      String.raw`${opening}(?:${pronouns}|(?:${prepositions}) (?:what|which|whose|whom))\b(?![^.:;]*\?)`,
      'gm',
    ),
    better: 'begin with the subject or a verb: the user whose …, bytes that …, returns …',
    onlyIn: 'comments',
  },
];

/** Words that no name of a program has, with better ones. */
export const namedBetter: ReadonlyMap<string, string> = new Map([
  ...['tell', 'tells', 'telling', 'told'].map((word) => [word, 'report, publish, show'] as const),
  ...['nobody', 'somebody', 'everybody', 'whoever'].map((word) => [word, 'the actor; none, all'] as const),
  ...['quota', 'quotas'].map((word) => [word, 'limit, budget'] as const),
  ...['bury', 'buries', 'buried'].map((word) => [word, 'deadLetter'] as const),
  ...['dear', 'dearer', 'dearest'].map((word) => [word, 'expensive, highest'] as const),
  ['anew', 'again, fresh'],
]);
