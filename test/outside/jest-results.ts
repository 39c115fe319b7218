import { readFileSync } from 'node:fs';

/** The part of Jest's output with `--json` that this reads. */
interface Results {
  testResults: {
    name: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

/** Prints the results of a Jest run as a step's lines: `ok: <check>` or `failed: <check>: <reason>`. */
const [, , file = ''] = process.argv;
const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Results;
for (const { name, message, assertionResults } of testResults) {
  if (assertionResults.length === 0) console.log(`failed: ${name}: ${firstLine(message)}`);
  for (const { fullName, status, failureMessages } of assertionResults) {
    if (status === 'passed') console.log(`ok: ${fullName}`);
    // One that was skipped has checked nothing either.
    else console.log(`failed: ${fullName}: ${firstLine(failureMessages[0] ?? status)}`);
  }
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? '';
}
