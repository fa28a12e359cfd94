BEGIN TRANSACTION;
CREATE TABLE confide_chunks (
	release INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	content BLOB NOT NULL, 
	PRIMARY KEY (release, position), 
	FOREIGN KEY(release) REFERENCES confide_releases (id)
);
INSERT INTO "confide_chunks" VALUES(6,0,X'504152311504154015404C15081500120000200CA7420900010108DB1E3701074000AC0D840000000000D434A4FFFFFFFFFF1500151415182C15081510150615061C1808AC0D8400000000001808D434A4FFFFFFFFFF16002808AC0D8400000000001808D434A4FFFFFFFFFF11110000000A240200000008010203E4001504154015424C15081500120000203C000000004E85E23F000000806D8F0B4001082CB581204000000000CBF216C01500151415182C15081510150615061C180800000080B5812040180800000000CBF216C01600280800000080B5812040180800000000CBF216C011110000000A240200000008010203E4001504193C35001806736368656D61150400150425021805636F756E7400150A2502180576616C7565001608191C192C26001C15041935000610191805636F756E741502160816EE0116F201266426081C1808AC0D8400000000001808D434A4FFFFFFFFFF16002808AC0D8400000000001808D434A4FFFFFFFFFF111100192C15041500150200150015101502003C29061926000800000026001C150A193500061019180576616C75651502160816EE0116F40126D80226FA011C180800000080B5812040180800000000CBF216C01600280800000080B5812040180800000000CBF216C0111100192C15041500150200150015101502003C29061926000800000016DC031608260816E60300191C180C4152524F573A736368656D6118F8012F2F2F2F2F37414141414151414141414141414B41417741426741464141674143674141414141424241414D41414141434141494141414142414149414141414241414141414941414142494141414142414141414E442F2F2F38414141454445414141414277414141414541414141414141414141554141414232595778315A514147414167414267414741414141414141434142414146414149414159414277414D414141414541415141414141414141424168414141414167414141414241414141414141414141464141414159323931626E51414141414941417741434141484141674141414141414141425141414141413D3D001820706172717565742D6370702D6172726F772076657273696F6E2032362E302E31192C1C00001C0000004302000050415231');
CREATE TABLE confide_datasets (
	name VARCHAR(1000) NOT NULL, 
	budget TEXT NOT NULL, 
	opened VARCHAR(40) NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "confide_datasets" VALUES('people','{"kind": "PureDP", "epsilon": 2.0}','2026-11-18T02:03:23+00:00');
INSERT INTO "confide_datasets" VALUES('People ','{"kind": "GDP", "mu": 1.0}','2026-11-18T02:03:23+00:00');
INSERT INTO "confide_datasets" VALUES('empty','{"kind": "ApproxDP", "epsilon": 1.0, "delta": 1e-06}','2026-11-18T02:03:23+00:00');
CREATE TABLE confide_ledger (
	version INTEGER NOT NULL, 
	identity VARCHAR(64) NOT NULL
);
INSERT INTO "confide_ledger" VALUES(1,'3958673f620e44cb99ef78661e334e99');
CREATE TABLE confide_releases (
	id INTEGER NOT NULL, 
	dataset VARCHAR(1000) NOT NULL, 
	request VARCHAR(64) NOT NULL, 
	guarantee TEXT NOT NULL, 
	part TEXT, 
	source VARCHAR(64), 
	form TEXT NOT NULL, 
	made VARCHAR(40) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(dataset) REFERENCES confide_datasets (name)
);
INSERT INTO "confide_releases" VALUES(1,'people','fe76277fc8af1f63dd2a0cbfacad615991300e61d6ca0516c797b780ab585498','{"kind": "PureDP", "epsilon": 0.25}',NULL,NULL,'{"format": "confide-release", "version": 1, "channel": {"statistic": {"kind": "Mean", "expressions": ["x"], "bounds": [0.0, 1.0]}, "mechanism": {"kind": "Laplace", "privacy": {"kind": "PureDP", "epsilon": 0.25}}, "n": 4, "neighbours": "replace-one"}, "guarantee": {"kind": "PureDP", "epsilon": 0.25}, "dataset": "people", "purpose": "first", "value": 7.3465259075164795, "integers": {"counts": [30813563], "step": "1/1048576"}}','2026-11-18T02:03:26+00:00');
INSERT INTO "confide_releases" VALUES(2,'people','c08696e7e0e6eabcd95885f9360e354ba5b748c1e606bbdcc3057d09b10f0f61','{"kind": "PureDP", "epsilon": 0.25}','{"kind": "rows", "start": 0, "stop": 4}',NULL,'{"format": "confide-release", "version": 1, "channel": {"statistic": {"kind": "Mean", "expressions": ["x"], "bounds": [0.0, 1.0]}, "mechanism": {"kind": "Laplace", "privacy": {"kind": "PureDP", "epsilon": 0.25}}, "n": 4, "neighbours": "replace-one"}, "guarantee": {"kind": "PureDP", "epsilon": 0.25}, "dataset": "people", "part": {"kind": "rows", "start": 0, "stop": 4}, "value": 0.6581563949584961, "integers": {"counts": [2760508], "step": "1/1048576"}}','2026-11-18T02:03:26+00:00');
INSERT INTO "confide_releases" VALUES(3,'people','fc04ba850ee1985c50f6ce6d105ae9b6201361fd676c76711b1f8bc8b74ff6c6','{"kind": "PureDP", "epsilon": 0.25}','{"kind": "rows", "start": 4, "stop": 8}',NULL,'{"format": "confide-release", "version": 1, "channel": {"statistic": {"kind": "Mean", "expressions": ["x"], "bounds": [0.0, 1.0]}, "mechanism": {"kind": "Laplace", "privacy": {"kind": "PureDP", "epsilon": 0.25}}, "n": 4, "neighbours": "replace-one"}, "guarantee": {"kind": "PureDP", "epsilon": 0.25}, "dataset": "people", "part": {"kind": "rows", "start": 4, "stop": 8}, "value": 1.733872652053833, "integers": {"counts": [7272389], "step": "1/1048576"}}','2026-11-18T02:03:26+00:00');
INSERT INTO "confide_releases" VALUES(4,'people','6a96922d4a453ba4f30469feac942888886ad1f1b71487fcacedb31d542490af','{"kind": "PureDP", "epsilon": 0.25}','{"kind": "hashed", "column": "id", "start": 0.0, "stop": 0.5}',NULL,'{"format": "confide-release", "version": 1, "channel": {"statistic": {"kind": "Mean", "expressions": ["x"], "bounds": [0.0, 1.0]}, "mechanism": {"kind": "Laplace", "privacy": {"kind": "PureDP", "epsilon": 0.25}}, "n": 3, "neighbours": "replace-one"}, "guarantee": {"kind": "PureDP", "epsilon": 0.25}, "dataset": "people", "column": "x", "part": {"kind": "hashed", "column": "id", "start": 0.0, "stop": 0.5}, "value": -0.25885899861653644, "integers": {"counts": [-814300], "step": "1/1048576"}}','2026-11-18T02:03:26+00:00');
INSERT INTO "confide_releases" VALUES(5,'people','c624612f394300cc4ad8d3cebc98f8c6a9f03c3583a3ebb9d25f86d3058576a2','{"kind": "PureDP", "epsilon": 0.25}','{"kind": "hashed", "column": "id", "start": 0.5, "stop": 1.0}',NULL,'{"format": "confide-release", "version": 1, "channel": {"statistic": {"kind": "Mean", "expressions": ["x"], "bounds": [0.0, 1.0]}, "mechanism": {"kind": "Laplace", "privacy": {"kind": "PureDP", "epsilon": 0.25}}, "n": 5, "neighbours": "replace-one"}, "guarantee": {"kind": "PureDP", "epsilon": 0.25}, "dataset": "people", "column": "x", "part": {"kind": "hashed", "column": "id", "start": 0.5, "stop": 1.0}, "value": -0.7093999862670899, "integers": {"counts": [-7438598], "step": "1/2097152"}}','2026-11-18T02:03:26+00:00');
INSERT INTO "confide_releases" VALUES(6,'people','3b86be5b08e4fb7071deb75b696d999186a21eae95c0e5899c87b59bd40c82c3','{"kind": "PureDP", "epsilon": 0.25}',NULL,NULL,'{"format": "confide-release", "version": 1, "channel": {"statistic": {"kind": "Each", "expressions": ["x"], "bounds": [0.0, 1.0]}, "mechanism": {"kind": "Laplace", "privacy": {"kind": "PureDP", "epsilon": 0.25}}, "n": 4, "neighbours": "replace-one"}, "guarantee": {"kind": "PureDP", "epsilon": 0.25}, "dataset": "people", "records": {"file": "records.parquet", "digest": "df8a51611a9f18cae0a8aeda5ee24987ef398a045d6439cbd579a44bffa1020e", "step": "1/1048576"}}','2026-11-18T02:03:26+00:00');
INSERT INTO "confide_releases" VALUES(7,'People ','235f4b726d4e02df432f8b7e83ea292edf7018713e768530ee4126dac3f2c9f3','{"kind": "PureDP", "epsilon": 0.25}',NULL,NULL,'{"format": "confide-release", "version": 1, "channel": {"statistic": {"kind": "Mean", "expressions": ["x"], "bounds": [0.0, 1.0]}, "mechanism": {"kind": "Laplace", "privacy": {"kind": "PureDP", "epsilon": 0.25}}, "n": 4, "neighbours": "replace-one"}, "guarantee": {"kind": "PureDP", "epsilon": 0.25}, "dataset": "People ", "value": -0.07387852668762207, "integers": {"counts": [-309869], "step": "1/1048576"}}','2026-11-18T02:03:27+00:00');
CREATE INDEX ix_confide_releases_request ON confide_releases (request);
CREATE INDEX ix_confide_releases_dataset ON confide_releases (dataset);
COMMIT;
