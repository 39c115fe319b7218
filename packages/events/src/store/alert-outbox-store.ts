import { alertKey, writeAlertEvent, type NewAlert } from '../alert-event.ts';
import { EntryOutbox } from './entry-outbox.ts';

/** The table `alert_outbox` of a service: alerts to publish. */
export class AlertOutbox extends EntryOutbox<NewAlert> {
  constructor(service: string) {
    super({
      table: `${service}.alert_outbox`,
      source: `gatehouse/${service}/alerts`,
      keyOf: alertKey,
      write: writeAlertEvent,
    });
  }
}
