PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE run (
  id integer primary key, began text not null, slots integer not null, objective text not null,
  policy text not null, folder text not null, jobs text not null, lasted real not null default 0,
  status text not null default 'running');
INSERT INTO run VALUES(1,'2026-11-23T20:30:53Z',2,'sum:response','auto','@FOLDER@','[{"name": "squares", "command": "sleep 0.02; expr {} \\* {}", "over": {"range": 6}, "user": "ann", "program": "expr"}, {"name": "fails", "command": "test {} != b; echo late; exit 3", "over": ["a", "b"], "retries": 1}, {"name": "never", "command": "true", "after": ["fails"]}]',0.32726625500004047353,'done');
INSERT INTO run VALUES(2,'2026-11-23T20:32:25Z',2,'sum:response','auto','@FOLDER@','[{"name": "consume", "command": "cat {} >>eaten; rm {}; sleep 0.3; true", "over": {"files": "in/*.in"}, "weight": 2, "deadline": 100, "environment": {"V1": "yes"}}, {"name": "matrix", "command": "echo {sample} {seed}", "over": {"matrix": {"sample": {"lines": "lines.txt"}, "seed": {"range": "1-2"}}}, "after": ["consume"]}, {"name": "list", "commands": ["echo one", ["echo", "two"]], "timeout": 9, "memory": "1M"}]',0.8456301470000653353,'running');
CREATE TABLE session (
  id integer primary key, run integer not null, began text not null, at real not null,
  pid integer not null);
INSERT INTO session VALUES(1,1,'2026-11-23T20:30:53Z',0.0,16852);
INSERT INTO session VALUES(2,2,'2026-11-23T20:32:25Z',0.0,18158);
CREATE TABLE attempt (
  run integer not null, job integer not null, task integer not null, attempt integer not null,
  status integer not null, began real not null, seconds real not null, cpu real not null,
  memory real not null, how text not null, primary key (run, job, task, attempt)) without rowid;
INSERT INTO attempt VALUES(1,0,0,0,0,0.18218714799991175823,0.038691775999950550612,0.0044939999999999997309,11862016.0,'');
INSERT INTO attempt VALUES(1,0,1,0,0,0.18224525400000857189,0.036472349000177928246,0.0046800000000000001321,11862016.0,'');
INSERT INTO attempt VALUES(1,0,2,0,0,0.22294396200004484853,0.027845415000001594307,0.0041819999999999999534,11862016.0,'');
INSERT INTO attempt VALUES(1,0,3,0,0,0.2238751309998860961,0.033970944999964558519,0.0045009999999999997927,11862016.0,'');
INSERT INTO attempt VALUES(1,0,4,0,0,0.25276211699997475079,0.024548441999968417803,0.0045829999999999994006,11862016.0,'');
INSERT INTO attempt VALUES(1,0,5,0,0,0.26278663199991569854,0.025918911000189837068,0.0044339999999999995736,11862016.0,'');
INSERT INTO attempt VALUES(1,1,0,0,3,0.15684517099998629419,0.0044130349999704776564,0.0013499999999999998546,11862016.0,'');
INSERT INTO attempt VALUES(1,1,0,1,3,0.16547543100000439153,0.0013230690001364564523,0.0015249999999999998799,11862016.0,'');
INSERT INTO attempt VALUES(1,1,1,0,3,0.15694148300008237129,0.0010654180000528867822,0.0010980000000000000176,11862016.0,'');
INSERT INTO attempt VALUES(1,1,1,1,3,0.16552341200008413579,0.0011901319999196857679,0.0011169999999999999373,11862016.0,'');
INSERT INTO attempt VALUES(2,0,0,0,0,0.1565661070001169719,0.32849768400001266854,0.0058079999999999997947,11902976.0,'');
INSERT INTO attempt VALUES(2,0,1,0,0,0.15666647600005489948,0.31990169899995635205,0.0054649999999999993721,11902976.0,'');
INSERT INTO attempt VALUES(2,0,2,0,0,0.50045654500013370125,0.34066717900009280128,0.005830999999999999378,11902976.0,'');
INSERT INTO attempt VALUES(2,0,3,0,0,0.50575858599995626718,0.32227560900014395883,0.0057619999999999997608,11902976.0,'');
INSERT INTO attempt VALUES(2,2,0,0,0,0.0022975429999405605485,0.021580967999852873617,0.0016730000000000000079,11902976.0,'');
INSERT INTO attempt VALUES(2,2,1,0,0,0.0023647420000543206697,0.0086933130000943492632,0.0015570000000000000072,11902976.0,'');
CREATE TABLE decision (
  run integer not null, at real not null, job integer not null, slots integer not null,
  why text not null);
INSERT INTO decision VALUES(1,0.15602110000008906354,1,2,'its maximum');
INSERT INTO decision VALUES(1,0.18183499599990682327,0,2,'its share');
INSERT INTO decision VALUES(2,0.0018705600000430422369,2,2,'its maximum');
INSERT INTO decision VALUES(2,0.15594860300006985198,0,2,'its share');
CREATE TABLE flying (
  run integer not null, job integer not null, tasks integer not null, began real not null,
  latest real not null, primary key (run, job)) without rowid;
INSERT INTO flying VALUES(2,2,2,0.0023311424999974406091,0.0023647420000543206697);
CREATE TABLE result (
  run integer not null, job integer not null, task integer not null, digest blob not null,
  value blob not null, primary key (run, job, task)) without rowid;
CREATE TABLE history (
  program text not null, user text not null, tasks integer not null, seconds real not null,
  squares real not null, primary key (program, user)) without rowid;
INSERT INTO history VALUES('expr','ann',6,-20.886555023111661455,72.889646664667523622);
CREATE INDEX decision_of on decision (run, at);
COMMIT;
