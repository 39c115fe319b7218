import type { Call, Handler } from '@gatehouse/http/app';
import type { Reply } from '@gatehouse/http/reply';
import { orNotFound } from '@gatehouse/http/resource';
import { resourceTypes, schemas, serviceProviderConfig } from './discovery.ts';
import { resourceReply } from './scim-reply.ts';
import { scimList, type Resource } from './scim-view.ts';

/** The documents by which clients learn what the gateway takes. */
export function scimDiscoveryHandlers(): Record<string, Handler> {
  return {
    'scim.config': () => Promise.resolve(resourceReply(serviceProviderConfig)),
    'scim.types': () => Promise.resolve(listReply(resourceTypes)),
    'scim.type': (call: Call) => Promise.resolve(replyOf(resourceTypes, call)),
    'scim.schemas': () => Promise.resolve(listReply(schemas)),
    'scim.schema': (call: Call) => Promise.resolve(replyOf(schemas, call)),
  };
}

function listReply(resources: readonly Resource[]): Reply {
  return resourceReply(scimList(resources, { total: resources.length, startIndex: 1 }));
}

function replyOf(resources: readonly Resource[], { params }: Call): Reply {
  const resource = resources.find(({ id }) => id === params['id']);
  return resourceReply(orNotFound(resource ?? null, 'document'));
}
