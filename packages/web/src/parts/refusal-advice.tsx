import type { Trace } from '@gatehouse/contract/traces';
import { may, type Needs } from '../shell/rights.ts';
import { usePerson } from '../shell/session.tsx';

interface Advice {
  text: string;
  link?: { label: string; href: string; needs: Needs };
}

const limits = { label: 'Limits', href: '/app/', needs: { scope: 'analytics.read' } } as const;
const keys = { label: 'Keys', href: '/app/keys', needs: { scope: 'keys.write' } } as const;
const agents = { label: 'Agents', href: '/app/agents', needs: { scope: 'agents.write' } } as const;
const models = { label: 'Models', href: '/app/playground', needs: { scope: 'chat' } } as const;

const withRight = { text: 'Use a key with this right.', link: keys };
const storedResponse = { text: 'Send the conversation itself: the stored response is gone.' };

const advices: Readonly<Record<string, Advice>> = {
  rate_limit_exceeded: { text: 'Repeat it after the time in retry-after, or raise the limit.', link: limits },
  insufficient_quota: { text: 'Wait until the budget resets, or raise it.', link: limits },
  model_unpriced: { text: 'Choose a model with a price: a budget needs one.', link: models },
  model_not_found: { text: 'Choose a model of the catalogue.', link: models },
  agent_disabled: { text: 'Enable the agent.', link: agents },
  unknown_mcp_server: { text: 'Choose servers and tools of the agent again.', link: agents },
  run_stopped: { text: 'Wait until the time in the message.' },
  not_found: { text: 'Name an agent of your tenant.', link: agents },
  acting_user_required: { text: 'Name the user in the header X-Service-User-Id.' },
  user_mismatch: { text: 'Use the key of this user, or one without a user.', link: keys },
  role_missing: withRight,
  scope_missing: withRight,
  caller_not_allowed: withRight,
  payload_too_large: { text: 'Send a smaller request.' },
  previous_response_not_found: storedResponse,
  item_not_found: storedResponse,
};

const otherwise: Advice = { text: 'Correct the request: the message names the mistake.' };

interface RefusalAdviceProps {
  code: string;
  agentId?: Trace['agent_id'];
}

/** The next step after a refused request, with a link to the page for it. */
export function RefusalAdvice({ code, agentId = null }: RefusalAdviceProps) {
  const person = usePerson();
  const { text, link } = Object.hasOwn(advices, code) ? (advices[code] ?? otherwise) : otherwise;
  if (link === undefined || !may(person, link.needs)) return <>{text}</>;
  const href = link === agents && agentId !== null ? `${agents.href}/${agentId}` : link.href;
  return (
    <>
      {text} <a href={href}>{link.label}</a>
    </>
  );
}
