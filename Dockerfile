# This stage's own Node only runs npm: it installs Postrider's dependencies, the pinned Node among them.
FROM node:24-trixie-slim AS dependencies
# The pinned Node needs libatomic, which slim images leave out.
RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json .npmrc ./
COPY scripts/ensure-installed scripts/
# The Node binary is linked to node_modules/node/bin; what else its package unpacked (headers, manual) is not needed.
RUN scripts/ensure-installed && rm -rf node_modules/node/node_modules

FROM dependencies AS dashboard
COPY dashboard dashboard
RUN scripts/ensure-installed --dashboard

FROM debian:trixie-slim
RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1 && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin postrider \
  && install --directory --owner=postrider --group=postrider --mode=0700 /data
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json package-lock.json LICENSE ./
COPY scripts/ensure-installed scripts/
COPY bin bin
COPY src src
COPY demo demo
COPY sdk/typescript/src sdk/typescript/src
COPY --from=dashboard /app/dashboard/dist dashboard/dist

ENV NODE_ENV=production \
  NODE_COMPILE_CACHE=/tmp/node-compile-cache \
  POSTRIDER_DATA_DIR=/data \
  POSTRIDER_HOST=0.0.0.0
USER postrider
VOLUME /data
EXPOSE 8383
# The launcher becomes the pinned Node, so the signal reaches the service, which then finishes what is on the wire.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --start-interval=1s CMD [ \
  "node_modules/node/bin/node", "-e", \
  "fetch('http://127.0.0.1:' + (process.env.POSTRIDER_PORT || 8383) + '/healthz').then((r) => process.exit(r.ok ? 0 : 1))" \
]
ENTRYPOINT ["/app/bin/postrider"]
CMD ["serve"]
