import { literals, mayStart } from './literals.ts';
import { longestCandidate, type Shape, type Verdict } from './shape.ts';
import { before, runEnd, startsToken } from './tokens.ts';

const schemes =
  'postgres mysql mariadb mongodb redis amqp mssql sqlserver http ftp sftp smtp imap ldap clickhouse cockroachdb ' +
  'oracle couchbase neo4j bolt nats kafka mqtt ws snowflake';
const schemeWords = schemes.split(' ');

/** The scheme with its variants, as in `postgresql`, `mongodb+srv`, `rediss`; slashes may be escaped. */
const scheme = /[a-z0-9]{2,12}(?:\+[a-z0-9]{2,8})?:(?:\\?\/){2}/y;
const partialScheme = /[a-z0-9]{2,12}(?:\+[a-z0-9]{0,8})?(?::(?:\\?\/)?\\?)?/y;

const userinfo = /[^\s"'<>`@/?\\,;(){}|]{0,160}/y;
const host = /[^\s"'<>`@/?#\\,;(){}|]{0,60}/y;

/** Passwords of documents and of local defaults. */
const weakPassword =
  /^(?:\*+|x+|password|passwd|pass|pwd|pw|secret|changeme|example|user|username|postgres|root|admin|guest|test|token)$/i;

/** Variables in place of a password. */
const variable = /^(?:\$|%[sdv]$|\[.*\]$|:)/;

/** URLs with a user and a password. Those of documents and local defaults are no matches. */
export const connectionString: Shape = {
  type: 'connection_string',
  next: literals(schemeWords),

  at(text, start, ended) {
    if (!startsToken(text, start)) return null;
    if (
      !ended &&
      schemeWords.some((word) => start + word.length > text.length && mayStart(word, text, start))
    ) {
      return 'undecided';
    }
    const user = runEnd(scheme, text, start);
    if (user === start)
      return !ended && runEnd(partialScheme, text, start) === text.length ? 'undecided' : null;
    const sign = runEnd(userinfo, text, user);
    if (sign === text.length && !ended) return 'undecided';
    if (text[sign] !== '@') return null;
    const end = runEnd(host, text, sign + 1);
    if (end === text.length && !ended) return 'undecided';
    const isSecret = isPassword(text.slice(user, sign), text.slice(sign + 1, end));
    return isSecret ? { start, end, hasRest: true } : null;
  },

  rest: (text, end) => runEnd(/[^\s"'<>`\\,;(){}|]*/y, text, end),
};

/** Whether a URL's userinfo has a password of use. */
function isPassword(credentials: string, address: string): boolean {
  const colon = credentials.indexOf(':');
  const password = credentials.slice(colon + 1);
  if (colon === -1 || password === '' || address === '' || variable.test(password)) return false;
  const isWeak = weakPassword.test(password) || password === credentials.slice(0, colon);
  return !(isWeak && isLocal(address));
}

/** Whether a host, with its port, is this machine, a name without a domain, or an example. */
function isLocal(address: string): boolean {
  const name = address.replace(/:\d*$/, '').toLowerCase();
  return !name.includes('.') || name === '127.0.0.1' || /(?:^|\.)example\.(?:com|org|net)$/.test(name);
}

const members = ['AccountKey=', 'SharedAccessKey=', 'Password=', 'password=', 'Pwd=', 'pwd=', 'PWD='];
const memberValue = /[^\s"'<>`;&\\]{0,254}/y;

/** Other members of a connection string, on the line of its password. */
const otherMember =
  /(?:\b(?:server|data source|host|user id|uid|user|username|initial catalog|database)\s?=|jdbc:)[^\n]*$/i;
const separator = /[;?&]\s?$/;

/** The longest key of Azure's storage and queues, and the shortest reported password. */
const shortest = { key: 40, password: 6 };

/** Passwords and keys in connection strings of ADO.NET, ODBC, JDBC and Azure. */
export const connectionMember: Shape = {
  type: 'connection_string',
  next: literals(members),

  at(text, start, ended): Verdict {
    const member = members.find((word) => mayStart(word, text, start));
    if (member === undefined) return null;
    const value = start + member.length;
    if (value >= text.length) return ended ? null : 'undecided';
    const end = Math.min(runEnd(memberValue, text, value), start + longestCandidate - 2);
    if (end === text.length && !ended) return 'undecided';
    const secret = text.slice(value, end);
    const isKey = member.endsWith('Key=');
    if (secret.length < (isKey ? shortest.key : shortest.password)) return null;
    if (!isKey && (isDefault(secret) || !isMember(before(text, start, 200)))) return null;
    return { start: value, end, hasRest: end === start + longestCandidate - 2 };
  },

  rest: (text, end) => runEnd(/[^\s"'<>`;&\\]*/y, text, end),
};

/** Whether a password after this text belongs to a connection string. */
function isMember(context: string): boolean {
  return separator.test(context) && otherMember.test(context);
}

function isDefault(secret: string): boolean {
  return weakPassword.test(secret) || variable.test(secret) || /[{}<>]/.test(secret);
}
