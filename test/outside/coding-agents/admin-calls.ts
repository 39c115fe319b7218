/** Calls the gateway with a key, and returns the body of its answer: null without one. Throws unless it succeeds. */
export type GatewayCalls = <Body>(call: string, body?: object) => Promise<Body>;

/** `call`: the method and the path. */
export function callsWith(url: string, key: string): GatewayCalls {
  return async <Body>(call: string, body?: object): Promise<Body> => {
    const [method = '', path = ''] = call.split(' ');
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${call}: ${answer.status} ${said}`);
    return (said === '' ? null : JSON.parse(said)) as Body;
  };
}
