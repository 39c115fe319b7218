import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { assertSecretsFile, carryOut } from '../declarations/carry-out.ts';
import { checkSteps } from '../declarations/check.ts';
import { readDeclared, type Declared } from '../declarations/declared.ts';
import { planSteps, setsOfKinds, type SetsOfKinds, type Step } from '../declarations/plan.ts';
import { readPresent, type Present } from '../declarations/present.ts';
import { SecretsFile } from '../declarations/secrets-file.ts';
import { doneLine, plannedLines, stepData } from '../declarations/step-text.ts';
import type { Operation } from '../operations.ts';
import { addShared } from '../resource-commands.ts';
import { UsageError } from '../usage-error.ts';

interface DeclaredOptions extends SharedOptions {
  file: string;
  label?: string;
  prune?: boolean;
  sendSecrets?: boolean;
}

interface ApplyOptions extends DeclaredOptions {
  dryRun?: boolean;
  secretsFile?: string;
  yes?: boolean;
}

/** The gateway is not as declared: exit code 3. */
export class DriftError extends Error {}

/** `plan`, also as `diff`, and `apply`. */
export function addApply(program: Command, context: Context, operations: readonly Operation[]): void {
  const sets = setsOfKinds(operations);
  withFiles(program.command('plan').alias('diff'))
    .description(
      'say what apply would change, after a check by the gateway; ends with 3 if there is anything',
    )
    .addHelpText('after', '\nExample:\n  gatehouse plan -f gatehouse/\n')
    .action(async (options: DeclaredOptions) => {
      const { steps } = await plan(context, options, sets);
      show(context, options, steps);
      if (steps.length > 0) throw new DriftError();
    });

  withFiles(program.command('apply'))
    .description(
      'make tenants, servers, agents, channels, endpoints, subscriptions, users, policies and keys as files declare them; changes nothing if the gateway would refuse one',
    )
    .option('--dry-run', 'only say what would be done, as plan does')
    .option('--secrets-file <file>', 'file for secrets that are shown once, as lines of JSON')
    .option('-y, --yes', 'delete what --prune finds without a question')
    .addHelpText('after', '\nExample:\n  gatehouse apply -f gatehouse/ --secrets-file secrets.jsonl\n')
    .action(async (options: ApplyOptions) => {
      const { declared, steps, present } = await plan(context, options, sets);
      if (options.dryRun === true) show(context, options, steps);
      else await apply(context, options, { declared, steps, present });
    });
}

function withFiles(command: Command): Command {
  return addShared(command)
    .requiredOption('-f, --file <path>', 'a file, a folder of them, or - for standard input')
    .option('--label <label>', 'label of this set of files, stored with its agents')
    .option('--prune', 'delete agents with the label, their channels and endpoints, that are not declared')
    .option('--send-secrets', 'send credentials again, which can’t be compared');
}

interface Plan {
  declared: Declared;
  steps: Step[];
  present: Present;
}

/** The steps, each checked by the gateway. */
async function plan(context: Context, options: DeclaredOptions, sets: SetsOfKinds): Promise<Plan> {
  const { file, label, prune = false, sendSecrets = false } = options;
  const declared = await readDeclared(file, context.surroundings);
  if (prune && label === undefined) throw new UsageError('Give the --label of the set of files to --prune.');
  if (prune && [...declared.values()].every((things) => things.length === 0))
    throw new UsageError('Nothing is declared: --prune would delete everything with the label.');
  const client = await context.client(options);
  const present = await readPresent(client, declared, { prune });
  const planned = planSteps(declared, present, { label, prune, sendSecrets, sets });
  const steps = await checkSteps(client, planned, present);
  return { declared, steps, present };
}

function show(context: Context, options: SharedOptions & { dryRun?: boolean }, steps: readonly Step[]): void {
  const output = context.output(options);
  if (output.isData)
    output.answer({ ...(options.dryRun === true && { dry_run: true }), steps: steps.map(stepData) });
  else if (steps.length === 0) output.line('Everything is as declared.');
  else for (const line of steps.flatMap(plannedLines)) output.line(line);
}

async function apply(
  context: Context,
  options: ApplyOptions,
  { declared, steps, present }: Plan,
): Promise<void> {
  const output = context.output(options);
  const { secretsFile } = options;
  const secrets = secretsFile === undefined ? undefined : new SecretsFile(secretsFile);
  assertSecretsFile(steps, secrets);
  await confirmDeletions(context, options, steps);
  const client = await context.steadyClient(options);
  const { signal } = context.surroundings;
  const done: Step[] = [];
  const onDone = (step: Step): void => {
    done.push(step);
    if (!output.isData) output.line(doneLine(step));
  };
  try {
    await carryOut(client, steps, { declared, present, secrets, signal, onDone });
  } finally {
    if (output.isData) output.answer({ dry_run: false, steps: done.map(stepData) });
  }
  if (!output.isData && steps.length === 0) output.line('Everything is as declared.');
}

/** Asks at a terminal. Elsewhere `--prune` with its label is the answer. */
async function confirmDeletions(
  { surroundings }: Context,
  { yes = false }: ApplyOptions,
  steps: readonly Step[],
): Promise<void> {
  const deletions = steps.filter(({ action }) => action === 'delete');
  if (yes || deletions.length === 0) return;
  const names = deletions.map(({ kind, identity }) => `${kind.name} ${identity}`).join(', ');
  if ((await surroundings.confirm(`Delete ${names}?`)) === false) throw new UsageError('Nothing was changed');
}
