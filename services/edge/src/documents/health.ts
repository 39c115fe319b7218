import { protocolVersion, type Health } from '@gatehouse/contract/health';
import { version } from '@gatehouse/kit/version';

/** The body and status of `GET /health`; `ready` says whether the edge can serve. */
export function healthAnswer(ready: boolean): { status: 200 | 503; body: Health } {
  return ready
    ? { status: 200, body: { status: 'ok', protocol: protocolVersion, version } }
    : { status: 503, body: { status: 'unavailable', protocol: protocolVersion, version } };
}
