/** States in need of attention, and states as they should be; all others are neutral. */
const tones: Readonly<Record<string, 'good' | 'bad' | 'busy'>> = {
  ...{
    ok: 'good',
    active: 'good',
    connected: 'good',
    completed: 'good',
    delivered: 'good',
    succeeded: 'good',
    logged_in: 'good',
  },
  ...{ closed: 'good', accepted: 'good', enabled: 'good', up: 'good', down: 'bad' },
  ...{ error: 'bad', failed: 'bad', revoked: 'bad', suspended: 'bad', open: 'bad', interrupted: 'bad' },
  ...{ needs_reauth: 'bad', needs_auth: 'bad', needs_review: 'bad', failing: 'bad', lost: 'bad' },
  ...{ blocked: 'bad' },
  ...{
    running: 'busy',
    pending: 'busy',
    queued: 'busy',
    expiring: 'busy',
    open_for_some: 'busy',
    resting: 'busy',
  },
};

/** A state in the API's word: its colour only repeats it. */
export function Status({ state }: { state: string }) {
  return <span class={`status ${tones[state] ?? ''}`}>{state.replaceAll('_', ' ')}</span>;
}
