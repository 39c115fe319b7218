import { Gauge, type Registry } from '@gatehouse/kit/metrics';
import { AnswerBudget } from '@gatehouse/kit/answer-budget';

/** A single answer may have 64 MiB, and reading it takes about four times its size. */
const limits = { perTenant: 24 * 1024 * 1024, perProcess: 48 * 1024 * 1024 };

/** The budget of large answers of a process, with its metrics. */
export function answerBudget(registry: Registry): AnswerBudget {
  const budget = new AnswerBudget(limits);
  const registers = [registry];
  new Gauge({
    name: 'gatehouse_answer_bytes',
    help: 'Bytes of large answers of providers in memory',
    registers,
    collect() {
      this.set(budget.bytes);
    },
  });
  new Gauge({
    name: 'gatehouse_answers_waiting',
    help: 'Large answers of providers that wait until others are delivered',
    registers,
    collect() {
      this.set(budget.waiting);
    },
  });
  return budget;
}
