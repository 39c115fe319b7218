import type { NewCheck } from '@gatehouse/contract/guardrail-checks';
import { ModelCheck } from './model-check.ts';
import { ModerationCheck } from './moderation-check.ts';
import type { OutsideCheck } from './outside-check.ts';
import { PassedTexts } from './passed-texts.ts';
import { PresidioCheck } from './presidio-check.ts';
import type { ServerEgress } from './server-call.ts';
import { WebhookCheck } from './webhook-check.ts';

/** Makes the checks of guardrails by a model or a server. */
export class OutsideChecks {
  readonly #egress: ServerEgress;
  readonly #passed = new PassedTexts();

  constructor(egress: ServerEgress) {
    this.#egress = egress;
  }

  /**
   * The check of a guardrail; null for one of the gateway's own. `version`: another one for each guardrail and each change of
   * it, for what its model lets pass.
   */
  checkOf(check: NewCheck, version: string): OutsideCheck | null {
    const options = { version, passed: this.#passed };
    switch (check.type) {
      case 'moderation':
        return new ModerationCheck(check, options);
      case 'model':
        return new ModelCheck(check, options);
      case 'presidio':
        return new PresidioCheck(check, this.#egress);
      case 'webhook':
        return new WebhookCheck(check, this.#egress);
      case 'pii':
      case 'secrets':
      case 'patterns':
        return null;
    }
  }
}
