/* The API console: Swagger UI over the gateway's own document, which tries requests through the browser relay. */

// Relative to the page, so that the console also works where the gateway is under a path of something else.
const here = new URL('.', location.href);
const relay = new URL('api-docs/proxy', here).href;

/** The text that the events of a streamed completion spell; empty for what is none. */
function streamText(contentType, content) {
  if (!contentType?.startsWith('text/event-stream') || typeof content !== 'string') return '';
  const events = content.match(/^data: \{.*$/gm) ?? [];
  return events
    .flatMap((line) => JSON.parse(line.slice('data: '.length)).choices ?? [])
    .map((choice) => choice.delta?.content ?? '')
    .join('');
}

/** Shows a stream's text above its events. */
function streamTextPlugin() {
  return {
    wrapComponents: {
      responseBody: (ResponseBody, { React }) =>
        function ResponseBodyWithText(props) {
          const text = streamText(props.contentType, props.content);
          const body = React.createElement(ResponseBody, props);
          if (text === '') return body;
          return React.createElement(
            'div',
            null,
            React.createElement(
              'div',
              { className: 'stream-text' },
              React.createElement('h5', null, 'Text'),
              React.createElement('p', null, text),
            ),
            body,
          );
        },
    },
  };
}

SwaggerUIBundle({
  url: new URL('openapi.json', here).href,
  domNode: document.getElementById('console'),
  plugins: [streamTextPlugin],
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  deepLinking: true,
  // Keys stay in this tab's memory, and only the gateway is called.
  persistAuthorization: false,
  validatorUrl: null,
  // The request itself is shown to copy: programs don't use the relay.
  showMutatedRequest: false,
  requestInterceptor: (request) => {
    if (request.loadSpec) return request;
    const { pathname, search } = new URL(request.url, here);
    request.url = relay + pathname + search;
    return request;
  },
});
