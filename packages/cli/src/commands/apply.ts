import type { Command } from 'commander';
import type { Context, SharedOptions } from '../context.ts';
import { carryOut } from '../declarations/carry-out.ts';
import { readDeclared, type Declared } from '../declarations/declared.ts';
import {
  planSteps,
  readPresent,
  setsOfKinds,
  type Present,
  type SetsOfKinds,
  type Step,
} from '../declarations/plan.ts';
import { SecretsFile } from '../declarations/secrets-file.ts';
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
}

/** The gateway is not as declared: exit code 3. */
export class DriftError extends Error {}

/** `apply` and `diff`. */
export function addApply(program: Command, context: Context, operations: readonly Operation[]): void {
  const sets = setsOfKinds(operations);
  withFiles(program.command('apply'))
    .description(
      'make tenants, servers, agents, channels, endpoints, subscriptions and keys as files declare them',
    )
    .option('--dry-run', 'only say what would be done')
    .option('--secrets-file <file>', 'file for secrets that are shown once, as lines of JSON')
    .addHelpText('after', '\nExample:\n  gatehouse apply -f gatehouse/ --secrets-file secrets.jsonl\n')
    .action(async (options: ApplyOptions) => {
      const { declared, steps, present } = await plan(context, options, sets);
      const { dryRun = false, secretsFile, json = false } = options;
      const output = context.output(options);
      const client = await context.steadyClient(options);
      const secrets = secretsFile === undefined ? undefined : new SecretsFile(secretsFile);
      const { signal } = context.surroundings;
      const done: object[] = [];
      const show = (step: Step): void => {
        if (json) done.push(showStep(step));
        else output.line(lineOf(step, !dryRun));
      };
      try {
        if (dryRun) for (const step of steps) show(step);
        else await carryOut(client, steps, { declared, present, secrets, signal, onDone: show });
      } finally {
        if (json) output.answer({ dry_run: dryRun, steps: done });
      }
      if (!json && steps.length === 0) output.line('Everything is as declared.');
    });

  withFiles(program.command('diff'))
    .description('say what differs from what files declare; ends with 3 if anything does')
    .addHelpText('after', '\nExample:\n  gatehouse diff -f gatehouse/\n')
    .action(async (options: DeclaredOptions) => {
      const { steps } = await plan(context, options, sets);
      const output = context.output(options);
      if (output.isJson) output.answer({ steps: steps.map(showStep) });
      else for (const step of steps) output.line(lineOf(step, false));
      if (steps.length > 0) throw new DriftError();
      if (!output.isJson) output.line('Everything is as declared.');
    });
}

function withFiles(command: Command): Command {
  return addShared(command)
    .requiredOption('-f, --file <path>', 'a file, a folder of them, or - for standard input')
    .option('--label <label>', 'label of this set of files, stored with its agents')
    .option('--prune', 'delete agents with the label, their channels and endpoints, that are not declared')
    .option('--send-secrets', 'send credentials again, which can’t be compared');
}

async function plan(
  context: Context,
  options: DeclaredOptions,
  sets: SetsOfKinds,
): Promise<{ declared: Declared; steps: Step[]; present: Present }> {
  const { file, label, prune = false, sendSecrets = false } = options;
  const declared = await readDeclared(file, context.surroundings);
  if (prune && label === undefined) throw new UsageError('Give the --label of the set of files to --prune.');
  if (prune && [...declared.values()].every((things) => things.length === 0))
    throw new UsageError('Nothing is declared: --prune would delete everything with the label.');
  const present = await readPresent(await context.client(options), declared, { prune });
  return { declared, steps: planSteps(declared, present, { label, prune, sendSecrets, sets }), present };
}

function showStep({ action, kind, identity, differing }: Step): object {
  return { action, kind: kind.name, name: identity, members: differing };
}

function lineOf({ action, kind, identity, differing }: Step, isDone: boolean): string {
  const sign = { create: '+', update: '~', delete: '-' }[action];
  const verb = isDone ? `${action}d` : action;
  const members = action === 'update' ? ` (${differing.join(', ')})` : '';
  return `${sign} ${verb} ${kind.name} ${identity}${members}`;
}
