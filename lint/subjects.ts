import { spawnSync } from 'node:child_process';

/** A step of `make lint`: checks the subjects of commits, where the history is there. */

/** The last commit before the rule. */
const since = 'f5bbbe79d2332047163af9fc471de5a16108d874';

/** `area: change`, within 72 characters. */
const shape = /^[a-z][\w./-]*(?:, [a-z][\w./-]*)*: \S/;
const refused = /: (?:let|keep|read|give|take|say)s?\b/i;

/** The reason against a subject; null for one that names the area and the change. */
export function problemOf(subject: string): string | null {
  if (/^(?:Merge|Revert) /.test(subject)) return null;
  if (subject.length > 72) return 'longer than 72 characters';
  if (!shape.test(subject)) return 'name the area first: `chat: retry on 404 of a deployment`';
  return refused.test(subject)
    ? 'name the thing that changes, without let, keep, read, give, take or say'
    : null;
}

if (import.meta.main) {
  // A copy without history, or a shallow one, has no subjects to check.
  const { status, stdout } = spawnSync('git', ['log', '--format=%s', `${since}..HEAD`], { encoding: 'utf8' });
  const subjects = status === 0 ? stdout.split('\n').filter((line) => line !== '') : [];
  for (const subject of subjects) {
    const problem = problemOf(subject);
    if (problem === null) continue;
    console.log(`"${subject}": ${problem}`);
    process.exitCode = 1;
  }
}
